"""Lists of hosts: lines or TOML, and what is wrong with one in a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.node.probes.isolation.hosts import Host, HostsError, parse


def test_a_line_names_a_host_its_address_its_leaf_and_how_to_get_there():
    text = "# rack 4\nn1 10.0.0.1 leaf=l1 ssh -x n1\n\nn2 10.0.0.2\n"
    assert parse(text, "hosts") == [Host("n1", "10.0.0.1", "l1", ("ssh", "-x", "n1")), Host("n2", "10.0.0.2")]


def test_rails_are_listed_with_commas():
    one, other = parse("n1 10.0.0.1,10.1.0.1 leaf=l1,l2 ssh n1\nn2 10.0.0.2 leaf=l1\n", "hosts")
    assert (one.rails, [one.address_of(rail) for rail in (0, 1, 2)]) == (2, ["10.0.0.1", "10.1.0.1", "10.0.0.1"])
    assert ([one.leaf_of(0), one.leaf_of(1)], one.launch) == (["l1", "l2"], ("ssh", "n1"))
    assert (other.rails, other.leaf_of(3)) == (1, "l1")


def test_toml_says_the_same():
    text = '[[host]]\nname="n1"\naddress="10.0.0.1"\nlaunch=["ssh","n1"]\n[[host]]\nname="n2"\n'
    assert parse(text, "hosts") == [Host("n1", "10.0.0.1", "", ("ssh", "n1")), Host("n2")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n1\nn2 10.0.0.2\n", "line 1"),
        ("n1 10.0.0.1\n", "two hosts or more"),
        ("n1 10.0.0.1\nn1 10.0.0.2\n", "listed twice"),
        ("n1 10.0.0.1 'open\nn2 10.0.0.2", "line 1"),
        ('[[host]]\nname="a"\nadress="x"\n', "adress"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(text, expected):
    with pytest.raises(HostsError, match=expected):
        parse(text, "hosts")


@given(st.text(max_size=200))
def test_any_text_is_a_list_or_a_sentence(text):
    try:
        parse(text, "hosts")
    except HostsError as error:
        assert str(error)


@pytest.mark.parametrize(
    "text", ['a = "[[host]]"', "host = 1 # [[host]]", '[[host]]\nname="a"\nlaunch=3', "[[host]]\nname=1"]
)
def test_toml_of_another_shape_is_refused(text):
    with pytest.raises(HostsError):
        parse(text, "hosts")

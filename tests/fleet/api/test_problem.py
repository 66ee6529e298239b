"""Refusals that name another address carry what was asked for, and nothing that could pass for a header."""

from holdfast.fleet.api.problem import elsewhere, headers_for


def test_a_decoded_path_cannot_start_a_header_of_its_own() -> None:
    location = headers_for(elsewhere("https://two:8080"), "/v1/nodes/a\r\nSet-Cookie: x=1/ü")["Location"]
    assert location == "https://two:8080/v1/nodes/a%0D%0ASet-Cookie%3A%20x%3D1/%C3%BC"


def test_the_question_goes_along() -> None:
    location = headers_for(elsewhere("https://two:8080"), "/v1/audit", "who=a%20b&most=3")["Location"]
    assert location == "https://two:8080/v1/audit?who=a%20b&most=3"

"""A phrase in another language is read by every reader of the English words that it stands for."""

from holdfast.catalog import translations
from holdfast.formats.job.readers import by_keyword


def test_a_phrase_in_another_language_has_the_readers_of_its_english_words() -> None:
    readers = by_keyword()
    others = {other.encode(): english.encode() for other, english in translations.said_as().items()}
    english_words = {word: those for word, those in readers.items() if word not in others}
    for other, phrase in others.items():
        theirs = [those for word, those in english_words.items() if word in phrase or phrase in word]
        assert readers.get(other, ()) == tuple(dict.fromkeys(reader for those in theirs for reader in those)), phrase

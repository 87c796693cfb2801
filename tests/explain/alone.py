"""What every picture, page and text of a walkthrough has to be."""

import re
from xml.etree import ElementTree

from attnlab.explain.filling import printable
from attnlab.explain.palette import light
from attnlab.explain.pictures.runs import pictures_of
from attnlab.explain.runs_page import runs_page
from attnlab.explain.runs_text import runs_text
from attnlab.explain.sentence import Sentence

SPACE = "{http://www.w3.org/2000/svg}"


def check_alone(text, own="it"):
    """Well-formed, named and described, with colours and no bindings; `own` is text that is not ours."""
    root = ElementTree.fromstring(text)
    title, description = root.find(f"{SPACE}title"), root.find(f"{SPACE}desc")
    assert title.text and description.text and root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert not re.search(r"var\(|data-|nan|\binf\b", text)
    assert "{" not in " ".join(root.itertext()).replace(printable(own), "")


def check_all(found, sentence, own="it"):
    """Every picture of every step stands alone; the page and the text are made, and returned."""
    for drawn in pictures_of(found).values():
        for picture in drawn:
            for step in found.steps:
                check_alone(picture.svg(step, light()), own)
    one = Sentence(sentence.source)
    return runs_page(one, [found]), runs_text(one, [found])

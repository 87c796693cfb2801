"""The walkthrough's page in a real browser: its scripts compute what the framework's own classes compute."""

# ruff: noqa: RUF001 (mathematical signs)

import json
import re
import shutil
import time
from html.parser import HTMLParser

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from attnlab.explain import example
from attnlab.explain.example import Point
from attnlab.explain.numbers import numbers
from attnlab.explain.pictures.example import pictures
from attnlab.explain.pictures.runs import pictures_of
from attnlab.explain.trained import trained
from attnlab.explain.walk import worked_example

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BROWSER and DRIVER),
        reason="no Chromium with its driver here: apt-get install chromium chromium-driver",
    ),
]
PATIENCE = 120  # seconds: of a busy machine
POINTS = [
    Point(),
    Point(state=[0.0, 0.0, 0.0, 0.0], additive=False, places=5, half_width=4, step=9),
    Point(state=example.ELSEWHERE, slots=(2, 3), places=40, half_width=10, step=40, output=3),
    Point(
        state=[-0.7, 0.9, 0.5, -0.8], additive=False, slots=(0, 3), places=4, half_width=1, step=1, output=1
    ),
]


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-proxy-server",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(PATIENCE)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("walk") / "index.html"
    path.write_text(worked_example().page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def walk(runs, sentence):
    """Two runs of unequal lengths of their translations."""
    folders = [runs("scorer=dot decoder=post_combine window=local_p"), runs("decoder=fixed_vector")]
    return trained(folders, sentence.source, None, sentence.target, False, "cpu")


@pytest.fixture(scope="module")
def walked(walk, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "index.html"
    path.write_text(walk.page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    def _opened(width=1300, scheme="light", address=address):
        browser.get("about:blank")
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        browser.get(address)
        WebDriverWait(browser, PATIENCE, poll_frequency=0.05).until(
            lambda _: browser.execute_script("return document.documentElement.dataset.ready === 'yes'")
        )
        return browser

    return _opened


def slide(browser, selector, value):
    browser.execute_script(
        "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
        "one.dispatchEvent(new Event('input', {bubbles: true}))",
        selector,
        value,
    )


def choose(browser, name, value):
    browser.execute_script(
        "document.querySelector(`input[name='${arguments[0]}'][value='${arguments[1]}']`).click()",
        name,
        value,
    )


def move(browser, point):
    """Every control to a point, by what a reader would move."""
    choose(browser, "output", point.output)
    choose(browser, "scorer", "additive" if point.additive else "dot")
    for slot, value in enumerate(point.state):
        slide(browser, f"[data-slot='{slot}']", value)
    for name in ("places", "half_width", "step"):
        slide(browser, f"[data-window='{name}']", getattr(point, name))
    Select(browser.find_element(By.ID, "slots")).select_by_value(",".join(map(str, point.slots)))


def same(here, there, path=""):
    """Trees of one shape whose numbers agree; what is not a number is null in the page."""
    if isinstance(there, dict):
        assert set(here) >= set(there), path
        for key in there:
            same(here[key], there[key], f"{path}.{key}")
    elif isinstance(there, list):
        assert len(here) == len(there), path
        for k, value in enumerate(there):
            same(here[k], value, f"{path}.{k}")
    elif isinstance(there, float) and there != there:
        assert here is None, path
    elif isinstance(there, float):
        assert here == pytest.approx(there, abs=1e-9), path
    else:
        assert here == there, path


@pytest.mark.parametrize("point", POINTS, ids=["opening", "zero", "elsewhere", "third"])
def test_the_page_computes_the_numbers_of_the_frameworks_own_classes(opened, browser, point):
    opened()
    move(browser, point)
    found = json.loads(browser.execute_script("return JSON.stringify(attnlab.tree)"))
    same(found, numbers(point))


class Drawn(HTMLParser):
    """The bound attributes and texts of an SVG, in order."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside = [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "data-b" in given:
            names = [part.partition("=")[0] for part in given["data-b"].split(";")]
            self.found += [(name, given[name]) for name in names]
        self.inside = "data-t" in given
        if self.inside:
            self.found.append(("text", ""))

    def handle_data(self, data):
        if self.inside:
            self.found[-1] = ("text", self.found[-1][1] + data)

    def handle_endtag(self, tag):
        self.inside = False


def close(one, other):
    """The same to the last digit of a coordinate, which may be rounded either way."""
    numbers_of = re.compile(r"[-−]?\d+(?:\.\d+)?")
    assert numbers_of.sub("#", one) == numbers_of.sub("#", other)
    pairs = zip(numbers_of.findall(one), numbers_of.findall(other), strict=True)
    return all(abs(float(a.replace("−", "-")) - float(b.replace("−", "-"))) <= 0.0101 for a, b in pairs)


@pytest.mark.parametrize("point", POINTS[:3:2], ids=["opening", "elsewhere"])
def test_a_moved_picture_is_the_one_that_is_drawn_there(opened, browser, point):
    opened()
    move(browser, point)
    tree = numbers(point)
    for step, drawn in pictures().items():
        for picture in drawn:
            shown = browser.execute_script(
                "return document.getElementById(arguments[0]).closest('svg').outerHTML",
                f"drawn-{picture.key}-title",
            )
            here, there = Drawn(shown).found, Drawn(picture.svg(tree, prefix="drawn-")).found
            assert len(here) == len(there), (step, picture.key)
            for (name, value), (other, wanted) in zip(here, there, strict=True):
                assert name == other and close(value, wanted), (picture.key, name, value, wanted)


def test_the_step_moves_every_picture_of_a_run_to_that_step(opened, browser, walk, walked):
    opened(address=walked)
    slide(browser, "#step", 3)
    assert browser.find_element(By.ID, "step-shown").text == "3"
    reading = walk.readings[0]
    assert browser.find_element(By.ID, "step-word").text == reading.steps[2]["word"]
    for drawn in pictures_of(reading).values():
        for picture in drawn:
            shown = browser.execute_script(
                "return document.getElementById(arguments[0]).closest('svg').outerHTML",
                f"run0-{picture.key}-title",
            )
            here, there = Drawn(shown).found, Drawn(picture.svg(reading.steps[2], prefix="run0-")).found
            assert len(here) == len(there), picture.key
            for (name, value), (other, wanted) in zip(here, there, strict=True):
                assert name == other and close(value, wanted), (picture.key, name, value, wanted)


def test_the_steps_play_to_the_last_one_and_stop(opened, browser, walked):
    opened(address=walked)
    last = int(browser.find_element(By.ID, "step").get_attribute("max"))
    slide(browser, "#step", last - 1)
    browser.find_element(By.ID, "play").send_keys(Keys.ENTER)
    wait = WebDriverWait(browser, PATIENCE, poll_frequency=0.1)
    wait.until(lambda _: browser.find_element(By.ID, "step-shown").text == str(last))
    wait.until(lambda _: browser.find_element(By.ID, "play").text == "play")


@pytest.mark.parametrize("width", [1300, 500])
def test_the_page_of_runs_opens_in_silence_and_fits(opened, browser, walked, width):
    browser.get_log("browser")
    opened(width, "dark", walked)
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_numbers_in_the_words_move_too(opened, browser):
    opened()
    move(browser, Point(state=example.ELSEWHERE))
    said = browser.find_element(By.CSS_SELECTOR, "#context .prose").text
    assert "0.3531, 0.4219, 0.3975" in said and "another state" in said
    assert "s = (−1.00, 1.00, −1.00, −1.00)" in browser.find_element(By.CSS_SELECTOR, "#panel summary").text


def test_the_button_goes_where_the_heaviest_is_not_the_nearest_and_back(opened, browser):
    opened()
    browser.find_element(By.CSS_SELECTOR, '[data-go="elsewhere"]').click()
    assert browser.execute_script("return attnlab.tree.heaviest + ' ' + attnlab.tree.nearest") == "Hund der"
    browser.find_element(By.CSS_SELECTOR, '[data-go="back"]').click()
    assert browser.execute_script("return attnlab.tree.s") == example.STEPS[1]


def test_each_step_of_the_output_has_its_state_and_the_dot_product_goes_from_word_to_word(opened, browser):
    opened()
    choose(browser, "scorer", "dot")
    heaviest = []
    for step in (1, 2, 3):
        choose(browser, "output", step)
        heaviest.append(browser.execute_script("return attnlab.tree.heaviest"))
    assert heaviest == example.SOURCE


def test_one_of_the_alternatives_is_shown_at_a_time(opened, browser):
    opened()

    def seen():
        return [
            one.get_attribute("data-key")
            for one in browser.find_elements(By.CSS_SELECTOR, "#lanes figure")
            if one.is_displayed()
        ]

    assert seen() == ["lanes_post_combine"]
    choose(browser, "order", "lanes_input_feeding")
    assert seen() == ["lanes_input_feeding"]


@pytest.mark.parametrize("width", [1300, 500])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_in_silence_asks_for_nothing_and_fits(opened, browser, width, scheme):
    browser.get_log("browser"), browser.get_log("performance")
    opened(width, scheme)
    time.sleep(0.2)  # for what would be asked for late
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"}
    assert [url for url in asked if not url.startswith((browser.current_url, "data:", "about:"))] == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", colour)[0]) < 100) == (scheme == "dark")


def test_every_picture_says_what_it_shows_and_every_control_what_it_is(opened, browser):
    opened()
    assert browser.execute_script(
        "return [...document.querySelectorAll('main svg')].every((svg) => svg.getAttribute('role') === 'img' &&"
        " svg.getAttribute('aria-labelledby').split(' ').every((id) => document.getElementById(id).textContent.length > 3))"
    )
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    bare = "input:not([aria-label]):not(label input), select:not(label select)"
    assert browser.find_elements(By.CSS_SELECTOR, bare) == []


def test_a_slider_and_an_answer_are_reached_with_the_keyboard(opened, browser):
    opened()
    slider = browser.find_element(By.CSS_SELECTOR, "[data-slot='0']")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert browser.execute_script("return attnlab.tree.s[0]") == pytest.approx(0.55)
    answer = browser.find_element(By.CSS_SELECTOR, "#recall details p")
    assert not answer.is_displayed()
    browser.find_element(By.CSS_SELECTOR, "#recall summary").send_keys(Keys.ENTER)
    assert answer.is_displayed()

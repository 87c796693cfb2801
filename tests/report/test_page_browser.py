"""The report's page in a real browser: headless Chromium with its own driver, from a file on disk."""

import json
import re
import shutil
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from attnlab.report.page import render

from .page_payloads import HOSTILE, payload

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
def pages(tmp_path_factory):
    """Where a page of some payload lies; each is written once."""
    folder, written = tmp_path_factory.mktemp("pages"), {}

    def _pages(name, make):
        if name not in written:
            written[name] = folder / f"{name}.html"
            written[name].write_text(render(make()), encoding="utf-8")
        return written[name].as_uri()

    return _pages


@pytest.fixture
def opened(browser, pages):
    """Opens a page in a window of some size and scheme, and waits until it is drawn."""

    def _opened(name="plain", make=lambda: payload(pairs=True), *, at="", width=1400, scheme="light"):
        browser.get("about:blank")  # so that only what is behind '#' still opens the page anew
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme_feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme_feature]})
        browser.get(pages(name, make) + at)
        wait(
            browser, lambda: browser.execute_script("return document.documentElement.dataset.ready === 'yes'")
        )
        wait(
            browser,
            lambda: (
                not shown(browser, "#length")
                or browser.find_elements(By.CSS_SELECTOR, "#length svg[role=img]")
            ),
        )
        return browser

    return _opened


def wait(browser, holds):
    return WebDriverWait(browser, PATIENCE, poll_frequency=0.05).until(lambda _: holds())


def all_of(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def one(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def shown(browser, selector):
    return browser.execute_script(f"return !document.querySelector('{selector}').hidden")


def texts(browser, selector):
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((element) => element.textContent.trim())",
        selector,
    )


def names(browser):
    return texts(browser, "#cells tbody .name .open")


def bleus(browser):
    cells = texts(browser, "#cells tbody tr > td:nth-child(2)")
    return [float(found[0]) for text in cells if (found := re.findall(r"^\d+\.\d+", text))]


def lines(browser):
    """The keys of the lines that the length chart shows."""
    return browser.execute_script(
        "return [...new Set([...document.querySelectorAll('#length [data-key]')].map((layer) => layer.dataset.key))]"
    )


def scroll_to(browser, element):
    browser.execute_async_script(  # until what listens to the scrolling has heard of it
        "arguments[0].scrollIntoView({block: 'center', inline: 'center'});"
        "requestAnimationFrame(() => requestAnimationFrame(arguments[1]))",
        element,
    )


def hover(browser, element, x=0, y=0):
    scroll_to(browser, element)
    ActionChains(browser).move_to_element_with_offset(element, x - 3, y).move_to_element_with_offset(
        element, x, y
    ).perform()


def click(browser, element):
    browser.execute_script("arguments[0].click()", element)


def tip_is_open(browser):
    return browser.execute_script("return document.querySelector('#tip').matches(':popover-open')")


def tip(browser):
    wait(browser, lambda: tip_is_open(browser))
    return one(browser, "#tip").text


def tip_at(browser, element, x=0, y=0):
    """What the panel says over a point of an element: pointed at anew where a late scroll has closed it."""

    def opens():
        hover(browser, element, x, y)
        return tip_is_open(browser)

    wait(browser, opens)
    return one(browser, "#tip").text


@contextmanager
def quiet(browser):
    """Nothing is written to the console meanwhile, and nothing but the page itself is asked for."""
    browser.get_log("browser"), browser.get_log("performance")
    yield
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {
        message["params"]["request"]["url"]
        for message in sent
        if message["method"] == "Network.requestWillBeSent"
    }
    own = (browser.current_url.partition("#")[0], "data:", "about:")
    assert [url for url in asked if not url.startswith(own)] == []


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_without_an_error_and_asks_for_nothing(opened, browser, width, scheme):
    with quiet(browser):
        opened(width=width, scheme=scheme)
        for section in ("length", "cells", "trade", "comparisons", "effects", "samples", "published"):
            assert shown(browser, f"#{section}"), section
        click(browser, one(browser, '[data-focus="row=cell0"]'))
        wait(browser, lambda: all_of(browser, "dialog[open] svg[role=img]"))


def test_the_head_says_in_words_which_seeds_have_no_score(opened, browser):
    given = payload(pairs=True)
    rows = [row for row in given["comparisons"][0]["rows"] if row["kind"] != "system"]
    runs = sum(len(row["runs"]) for row in rows)
    for row in rows:
        row["failed"] = row["interrupted"] = row["missing"] = []
    rows[0]["missing"], rows[1]["failed"] = ["3"], ["1", "2"]
    opened("lost", lambda: given)
    text = one(browser, "#summary").text
    assert f"({runs} of {runs + 3} runs)" in text
    assert f"Seed 3 of {rows[0]['name']} is missing; seeds 1 and 2 of {rows[1]['name']} failed." in text


def test_a_header_sorts_the_table_by_number_by_click_and_by_key(opened, browser):
    opened()
    assert bleus(browser) == sorted(bleus(browser), reverse=True)
    header = one(browser, '#cells [data-focus="sort=bleu"]')
    click(browser, header)
    assert bleus(browser) == sorted(bleus(browser))
    assert names(browser)[-1].startswith("scaled_dot")  # without a number, last in both directions
    chosen = one(browser, '#cells th[aria-sort="ascending"]')
    assert chosen.text.startswith("BLEU")
    name = one(browser, '#cells [data-focus="sort=name"]')
    name.send_keys(Keys.ENTER)
    assert names(browser) == sorted(names(browser), key=str.lower)
    assert browser.switch_to.active_element.get_attribute("data-focus") == "sort=name"


def test_a_chip_filters_the_table_the_charts_and_the_sentences_at_once(opened, browser):
    opened()
    before = (len(names(browser)), len(lines(browser)))
    click(browser, one(browser, ".filters summary"))
    click(browser, one(browser, '[data-focus="scorer=general"]'))
    found = names(browser)
    assert found and all("general" in name for name in found)
    assert len(found) < before[0]
    assert len(lines(browser)) == len(found) < before[1]
    assert all("general" in text for text in texts(browser, "#samples .card h3 .open"))
    assert one(browser, '[data-focus="scorer=general"]').get_attribute("aria-pressed") == "true"
    click(browser, one(browser, '[data-focus="reset"]'))
    assert len(names(browser)) == before[0]


def test_the_search_finds_rows_by_all_of_its_words(opened, browser):
    opened()
    browser.execute_script("document.querySelector('#controls input[type=search]').focus()")
    ActionChains(browser).send_keys("input dot").perform()  # to whatever has the focus, key by key
    wait(browser, lambda: len(names(browser)) < 5)
    assert names(browser) and all("input_feeding" in name and "dot" in name for name in names(browser))


def test_the_view_is_in_the_address_and_opens_again_as_it_was(opened, browser):
    opened(at="#f.scorer=dot%2Cgeneral&group=scorer&sort=name&descending=0&difference=1")
    found = names(browser)
    assert found and all("dot" in name or "general" in name for name in found)
    assert texts(browser, "#cells .group th") == ["dot", "general"]
    click(browser, one(browser, '[data-focus="average"]'))
    address = browser.current_url.partition("#")[2]
    assert "average=1" in address and "group=scorer" in address
    opened(at=f"#{address}")
    assert names(browser) == found
    assert sorted(lines(browser)) == ["dot", "general"]
    assert texts(browser, "#trade .key li") == ["dot", "general", "Large: the mean of the group."]


def test_hovering_over_the_length_chart_tells_value_interval_and_n_of_every_line(opened, browser):
    opened()
    said = tip_at(browser, one(browser, "#length svg[tabindex]"), 20, 10)
    assert "n = " in said and "source words" in said
    for name in texts(browser, "#length .legend-name"):
        assert name.replace(" (baseline)", "") in said
    assert len(re.findall(r"\d+\.\d\d \[\S+\d, \S+\d\]", said)) == len(lines(browser))


def test_the_arrow_keys_walk_through_the_lengths(opened, browser):
    opened()
    chart = one(browser, "#length svg[tabindex]")
    scroll_to(browser, chart)
    chart.send_keys(Keys.ARROW_RIGHT)
    assert tip(browser).startswith("≤10")
    chart.send_keys(Keys.ARROW_RIGHT)
    wait(browser, lambda: tip(browser).startswith("11-20"))


def test_a_line_of_the_list_hides_its_line_and_brings_it_forward(opened, browser):
    opened()
    button = one(browser, '[data-focus="line=cell0"]')
    hover(browser, button)
    assert "cell0" not in browser.execute_script(
        "return [...document.querySelectorAll('#length .faded')].map((layer) => layer.dataset.key)"
    )
    assert all_of(browser, "#length .faded")
    click(browser, button)
    wait(browser, lambda: "cell0" not in lines(browser))
    assert one(browser, '[data-focus="line=cell0"]').get_attribute("aria-pressed") == "false"


def test_difference_from_the_baseline_and_other_lengths_are_drawn(opened, browser):
    opened()
    Select(one(browser, '[data-focus="Show"]')).select_by_visible_text("difference from the baseline")
    wait(browser, lambda: "Difference in BLEU" in one(browser, "#length svg").text)
    assert "cell0" not in lines(browser)  # the baseline is the line at 0
    Select(one(browser, '[data-focus="Length in"]')).select_by_visible_text("source pieces")
    wait(browser, lambda: "Length in source pieces" in one(browser, "#length svg").text)
    assert "kind=source_pieces" in browser.current_url


def test_a_chart_has_its_numbers_as_a_table(opened, browser):
    opened()
    click(browser, one(browser, "#length .as-table summary"))
    wait(browser, lambda: all_of(browser, "#length .as-table table"))
    assert len(all_of(browser, "#length .as-table tbody tr")) == 6
    assert all_of(browser, "svg[role=img]:not([aria-label])") == []


def test_a_row_opens_its_details_and_escape_returns_to_it(opened, browser):
    opened()
    one(browser, '[data-focus="row=cell2"]').send_keys(Keys.ENTER)
    drawer = one(browser, "dialog[open]")
    wait(browser, lambda: "Training" in drawer.text)
    assert "row=cell2" in browser.current_url
    assert "failed" in drawer.text  # seed 9
    assert "only max" in drawer.text and "(\u22121.25)" in drawer.text
    links = [link.get_attribute("href") for link in drawer.find_elements(By.LINK_TEXT, "record")]
    assert len(links) == 2 and all(
        link.startswith("file:") and link.endswith("/result.json") for link in links
    )
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    wait(browser, lambda: not all_of(browser, "dialog[open]"))
    assert "row=" not in browser.current_url
    assert browser.switch_to.active_element.get_attribute("data-focus") == "row=cell2"


def test_a_confounded_row_lists_what_differs_on_focus_and_in_its_details(opened, browser):
    make = lambda: payload(pairs=True)  # noqa: E731
    row = next(row for row in make()["comparisons"][0]["rows"] if row["confounded"])
    opened(make=make)
    sign = one(browser, f'tr[data-row="{row["key"]}"] .dagger')
    scroll_to(browser, sign)
    browser.execute_script("arguments[0].focus({preventScroll: true})", sign)
    said = tip(browser)
    assert all(factor in said for factor in row["differs"])
    click(browser, one(browser, f'[data-focus="row={row["key"]}"]'))
    assert texts(browser, "dialog .factors li") == row["differs"]


def test_own_rows_systems_missing_cells_and_published_numbers_are_told_apart(opened, browser):
    opened()
    assert "not controlled" in one(browser, 'tr[data-row="system"]').text
    assert "missing: 1, 2" in one(browser, 'tr[data-row="missing"]').text
    seeds = all_of(browser, 'tr[data-row="cell0"] .seeds a')
    assert [seed.text for seed in seeds] == ["1", "2"]
    assert all(seed.get_attribute("href").endswith("/result.json") for seed in seeds)
    table = one(browser, "#cells table").get_attribute("textContent")
    assert "Luong" not in table and "newstest2014" not in table
    assert texts(browser, "#published .badge") == ["✓ verified", "second hand", "from memory"]


def test_tests_can_be_narrowed_to_pairs_that_differ_in_one_factor(opened, browser):
    opened()
    everything = len(all_of(browser, "#comparisons tbody tr"))
    assert everything == 28
    click(browser, one(browser, "#comparisons input[type=checkbox]"))
    left = texts(browser, "#comparisons tbody tr td:last-child")
    assert 0 < len(left) < everything
    assert set(left) <= {"scorer", "window", "encoder", "asks", "context_goes_to", "fed_back"}


def test_a_mark_is_told_again_after_scrolling_has_closed_its_panel(opened, browser):
    opened()
    wait(browser, lambda: all_of(browser, "#samples .card:first-child svg"))
    cell = one(browser, "#samples .card:first-child svg rect")
    said = tip_at(browser, cell)
    browser.execute_script("scrollBy(0, 3)")
    wait(browser, lambda: not tip_is_open(browser))
    ActionChains(browser).move_by_offset(1, 1).perform()
    assert tip(browser) == said


def test_a_heat_map_has_a_cell_a_weight_outlines_gold_links_and_tells_the_weight(opened, browser):
    opened()
    sentence = payload(pairs=True)["comparisons"][0]["samples"][0]
    found = sentence["rows"]["cell0"]
    count = sum(len(line) for line in found["weights"])
    card = "#samples .card:first-child svg"
    wait(browser, lambda: all_of(browser, card))
    wait(browser, lambda: len(all_of(browser, f'{card} [fill="var(--heat-empty)"] rect')) == count)
    outlined = all_of(browser, f'{card} [stroke="var(--gold)"] rect')
    assert len(outlined) == len(sentence["gold"].split())
    assert f"weight {found['weights'][0][0]:.3f}" in tip_at(browser, outlined[0])


@pytest.mark.parametrize(("place", "token"), [(1, "השמש"), (2, "春天"), (3, "Donaudampfsch…")])
def test_tokens_of_any_script_are_on_the_axes(opened, browser, place, token):
    opened(at=f"#sentence={place}")
    wait(browser, lambda: token in texts(browser, "#samples .card:first-child svg text"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_switch(opened, browser, scheme):
    def lightness():
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3

    opened(scheme=scheme)
    assert (lightness() > 200) == (scheme == "light")
    click(browser, one(browser, "#theme"))
    assert (lightness() > 200) == (scheme == "dark")
    browser.execute_script("localStorage.clear()")


@pytest.mark.parametrize("at", ["", "#row=cell2", "#group=scorer&f.decoder=post_combine&sentence=3"])
def test_a_narrow_window_never_scrolls_sideways(opened, browser, at):
    opened(width=390, at=at)
    sizes = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert sizes[0] <= sizes[1] == 390
    for drawer in all_of(browser, "dialog[open]"):
        assert drawer.get_property("scrollWidth") <= drawer.get_property("clientWidth")


def test_hostile_text_stays_text(opened, browser):
    with quiet(browser):
        opened("hostile", lambda: payload(hostile=True))
        assert one(browser, "#title").text == HOSTILE[1]
        assert one(browser, "#question").text == HOSTILE[0]
        assert HOSTILE[0] in names(browser)
        click(browser, one(browser, '[data-focus="row=cell2"]'))
        click(browser, one(browser, "dialog[open] .part details summary"))
        assert HOSTILE[0] in texts(browser, "dialog dt") and HOSTILE[2] in texts(browser, "dialog dd")
        opened("hostile", lambda: payload(hostile=True), at="#sentence=4&q=<img>&group=<b>")
        assert HOSTILE[0] in texts(browser, "#samples dd")
    assert browser.title == HOSTILE[1]  # not 'owned'
    assert all_of(browser, "img, iframe, object, embed") == []
    addresses = [element.get_attribute("href") for element in all_of(browser, "a[href]")]
    assert not [address for address in addresses if address.startswith("javascript:")]


def test_a_thousand_runs_come_a_hundred_rows_a_page_and_as_few_lines_as_can_be_told_apart(opened, browser):
    opened("thousand", lambda: payload(334, 3))
    assert len(names(browser)) == 100
    assert len(lines(browser)) == 13  # the best twelve and the baseline
    assert "322 more" in one(browser, "#length .with-legend .fine").text
    for _ in range(3):
        click(browser, one(browser, '[data-focus="Next"]'))
    assert len(names(browser)) == 36
    assert not one(browser, '[data-focus="Next"]').is_enabled()


def test_comparisons_can_be_switched(opened, browser):
    def two():
        first, second = payload(4, 1), payload(6, 1)
        second["comparisons"][0] |= {"id": "other", "label": "another test set"}
        return first | {"comparisons": [*first["comparisons"], *second["comparisons"]]}

    opened("two", two, at="#f.scorer=dot")
    click(browser, all_of(browser, "#switch .tab")[1])
    assert len(names(browser)) == 8
    assert "another test set" in one(browser, "#facts").text


def test_a_report_without_a_score_says_so(opened, browser):
    with quiet(browser):
        opened("nothing", lambda: payload(2, 1) | {"comparisons": []})
    assert "No run with a score" in one(browser, "#summary").text


def test_an_anonymous_report_links_to_no_record(opened, browser):
    opened("anonymous", lambda: payload(3, 2) | {"anonymous": True}, at="#row=cell0")
    wait(browser, lambda: all_of(browser, "dialog[open] table"))
    assert all_of(browser, "dialog a, #cells a") == []


def test_segment_scores_from_elsewhere_have_columns_and_tests_of_their_own(opened, browser):
    def scored():
        given = payload(3, 2, pairs=True)
        [comparison] = given["comparisons"]
        test = {**comparison["rows"][1]["test"], "delta": -0.0123, "ci": [-0.02, -0.004], "one_seed": True}
        for row in comparison["rows"][:2]:
            row["metrics"] = {"comet": {"mean": 0.8123, "sd": None, "n": 1, "ci": [0.8, 0.82], "test": test}}
        comparison["tests"].append({**test, "metric": "comet", "first": "cell1", "second": "cell0"})
        return given

    opened("scored", scored)
    assert {"comet", "Δ comet"} <= set(texts(browser, "#cells thead button"))
    assert "0.8123" in one(browser, 'tr[data-row="cell1"]').text
    Select(one(browser, "#comparisons select")).select_by_visible_text("comet")
    [line] = texts(browser, "#comparisons tbody tr")
    assert "\u22120.0123" in line and "¹" in line

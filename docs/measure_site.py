"""Measure a built site in headless Chromium, offline: ``python docs/measure_site.py SITE``.

Prints each code block, table, formula and page that is wider than its box, at 1280 and 390 px, in
light and dark mode, and the first hits of the site's search for each of QUERIES. Exits with 1 if
anything is cut or a first hit is not a page named here. Names of pages after SITE: only those.
"""

import http.server
import json
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

#: What people search -> pages that answer it.
QUERIES = {
    **{"hyperparameter": "faq kernels", "nonlinear": "kernels", "concept drift": "tasks/streams"},
    **{"imbalanced": "faq tasks/classify", "missing values": "tables faq", "overfitting": "faq"},
    **{"discrete choice": "tasks/discrete_choice", "contextual bandit": "tasks/bandits"},
    **{"feature importance": "faq", "learning to rank": "tasks/learning_to_rank"},
    **{"named entity": "tasks/sequences", "multilabel": "tasks/tag"},
    **{"ordinal regression": "tasks/grade", "label ranking": "tasks/rank"},
    **{"conformal prediction": "tasks/uncertainty", "checkpoint": "production"},
    **{"class weight": "faq tasks/classify", "random features": "kernels"},
    **{"quantile regression": "tasks/regression", "prequential": "tasks/streams risk"},
}

#: Runs in the browser: opens pages in a frame of each width, and sends what it finds.
SCRIPT = """<!doctype html><body><script>
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const view = document.createElement("iframe"), found = [], screens = {}, first = {};
const load = (url) => new Promise((done) => { view.onload = done; view.src = url; });
const cut = (box) => box.scrollWidth > box.clientWidth + 1;
const right = (part) => part.getBoundingClientRect().right;
const boxes = "p, dd, li, td, th, dt, div, h2, h3";
const tests = { html: cut, ".bd-article": cut, pre: cut,
  table: (table) => cut(table.parentElement), math: (math) => [...math.querySelectorAll("*")].some(
    (part) => right(part) > right(math.closest(boxes)) + 1) };
async function measure(page, width, mode) {
  view.style = `width: ${width}px; height: 844px; border: 0`;
  localStorage.mode = localStorage.theme = mode;
  await load("/" + page).then(() => wait(30));
  const root = view.contentDocument.documentElement;
  if (root.dataset.theme !== mode) found.push([width, mode, page, "mode", root.dataset.theme]);
  for (const [what, test] of Object.entries(tests))
    for (const part of view.contentDocument.querySelectorAll(what))
      if (test(part)) found.push([width, mode, page, what, part.textContent.trim().slice(0, 60)]);
  screens[page] = Math.round(root.scrollHeight / 84.4) / 10;
}
async function search(query) {
  await load("/search.html?q=" + encodeURIComponent(query));
  const done = () => view.contentDocument.querySelector(".search-summary")?.innerText ?? "";
  for (let n = 0; n < 99 && !/finished|found|did not match/.test(done()); n++) await wait(50);
  const hits = [...view.contentDocument.querySelectorAll("#search-results ul.search li > a")];
  first[query] = hits.slice(0, 4).map((hit) => hit.href.replace(location.origin + "/", ""));
}
(async () => {
  document.body.append(view);
  const { pages, queries } = await (await fetch("/task.json")).json();
  for (const query of queries) await search(query);
  for (const width of [1280, 390])
    for (const mode of ["light", "dark"])
      for (const page of pages) await measure(page, width, mode);
  await fetch("/sent", { method: "POST", body: JSON.stringify({ found, screens, first }) });
})();
</script></body>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve the site and the script, and receive its results."""

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        own = {"/measure.html": SCRIPT, "/task.json": json.dumps(self.server.task)}
        self.answer(own[self.path]) if self.path in own else super().do_GET()

    def do_POST(self):
        self.server.sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer("")
        self.server.done.set()

    def log_message(self, *_): ...


def measured(site, pages, browser="chromium"):
    """What the script sends of pages of a site."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=site))
    server.task, server.done = {"pages": pages, "queries": [*QUERIES]}, threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = "--headless --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-port=0"
        command = [browser, *flags.split(), f"--user-data-dir={profile}"]
        command.append(f"http://127.0.0.1:{server.server_port}/measure.html")
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            server.done.wait(1800)
            process.terminate()
    return server.sent


if __name__ == "__main__":
    site, wrong = Path(sys.argv[1]), 0
    built = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = sys.argv[2:] or [page for page in built if page[0] != "_"]
    sent = measured(site, pages)
    for width, mode, page, what, text in sent["found"]:
        print(f"{width} px, {mode}: {page}: {what}: {text!r}")
    for query, hits in sent["first"].items():
        right = [*hits, ""][0].partition(".html")[0] in QUERIES[query].split()
        wrong += not right
        print(f"{'right' if right else 'WRONG'}: {query}: {', '.join(hits)}")
    print("screens at 390 px:", sorted(sent["screens"].items(), key=lambda item: -item[1])[:12])
    print(f"{len(pages)} pages, {len(sent['found'])} cut, {wrong} searches wrong")
    sys.exit(bool(sent["found"] or wrong))

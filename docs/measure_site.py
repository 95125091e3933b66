"""Measure a built site in headless Chromium, offline: ``python docs/measure_site.py SITE``.

Prints each code block, table, formula and page that is wider than its box, at 1280 and 390 px, in
light and dark mode, and the first page that the site's search finds for each of QUERIES. Exits
with 1 if anything is cut, or if a first hit is not one of the pages named here. With names of
pages after SITE, only those are measured.
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
    "hyperparameter": "faq kernels choose coming_from",
    "nonlinear": "kernels choose faq",
    "concept drift": "tasks/streams",
    "imbalanced": "faq tasks/classify",
    "missing values": "tables faq",
    "discrete choice": "tasks/discrete_choice",
    "contextual bandit": "tasks/bandits",
    "feature importance": "faq tables",
    "learning to rank": "tasks/learning_to_rank",
    "overfitting": "faq kernels components",
    "prequential": "tasks/streams risk",
    "named entity": "tasks/sequences",
    "multilabel": "tasks/tag",
    "ordinal regression": "tasks/grade",
    "label ranking": "tasks/rank",
    "conformal prediction": "tasks/uncertainty",
    "checkpoint": "production",
    "class weight": "faq tasks/classify",
    "random features": "kernels",
    "quantile regression": "tasks/regression",
}

#: Runs in the browser: opens pages in a frame of each width, and sends what it finds.
SCRIPT = """<!doctype html><body><script>
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const frame = (width) => {
  const made = document.createElement("iframe");
  made.style = `width: ${width}px; height: 844px; border: 0`;
  document.body.append(made);
  return made;
};
const load = (frame, url) => new Promise((done) => { frame.onload = done; frame.src = url; });
const cut = (box) => box && box.scrollWidth > box.clientWidth + 1;
async function measure(pages, found) {
  for (const width of [1280, 390]) {
    const view = frame(width);
    for (const mode of ["light", "dark"]) {
      localStorage.mode = localStorage.theme = mode;
      for (const page of pages) {
        await load(view, "/" + page);
        await wait(30);
        const shown = view.contentDocument, root = shown.documentElement;
        const say = (what, text) => found.push([width, mode, page, what, text.trim().slice(0, 60)]);
        if (root.dataset.theme !== mode) say("theme", root.dataset.theme);
        if (root.scrollWidth > width + 1) say("page", `${root.scrollWidth} px`);
        for (const pre of shown.querySelectorAll("pre")) if (cut(pre)) say("code", pre.innerText);
        for (const table of shown.querySelectorAll("table"))
          if (cut(table.parentElement)) say("table", table.innerText);
        for (const math of shown.querySelectorAll("math")) {
          const box = math.parentElement.closest("p, dd, li, td, th, dt, div, h2, h3");
          const room = box.getBoundingClientRect().right + 1;
          if (math.getBoundingClientRect().right > room) say("formula", math.textContent);
        }
        found.screens[width][page] = Math.round(root.scrollHeight / 84.4) / 10;
      }
    }
  }
}
async function search(queries) {
  const first = {}, view = frame(1280);
  for (const query of queries) {
    await load(view, "/search.html?q=" + encodeURIComponent(query));
    for (let n = 0; n < 100 && !/search finished|did not match|no/i.test(
      view.contentDocument.querySelector("#search-results .search-summary, #search-results p")
        ?.textContent ?? ""); n++) await wait(50);
    const hits = [...view.contentDocument.querySelectorAll("#search-results ul.search li > a")];
    first[query] = hits.slice(0, 4).map((hit) => hit.href.replace(location.origin + "/", ""));
  }
  return first;
}
(async () => {
  const { pages, queries } = await (await fetch("/task.json")).json();
  const found = Object.assign([], { screens: { 1280: {}, 390: {} } });
  await measure(pages, found);
  const sent = { found, screens: found.screens, first: await search(queries) };
  await fetch("/sent", { method: "POST", body: JSON.stringify(sent) });
})();
</script></body>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of the site, the script, its task, and what it sends."""

    def do_GET(self):
        own = {"/measure.html": SCRIPT, "/task.json": json.dumps(self.server.task)}
        if self.path not in own:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(own[self.path].encode())

    def do_POST(self):
        self.server.sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.server.done.set()

    def log_message(self, *_):
        """Requests are not printed."""


def measured(site, pages, browser="chromium"):
    """What the script sends of pages of a site."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=site))
    server.task = {"pages": pages, "queries": list(QUERIES)}
    server.done = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        url = f"http://127.0.0.1:{server.server_port}/measure.html"
        command = [browser, *flags, f"--user-data-dir={profile}", "--remote-debugging-port=0", url]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            server.done.wait(1800)
            process.terminate()
    return server.sent


if __name__ == "__main__":
    site = Path(sys.argv[1])
    everything = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = sys.argv[2:] or [page for page in everything if not page.startswith("_")]
    sent = measured(site, pages)
    for width, mode, page, what, text in sent["found"]:
        print(f"{width} px, {mode}: {page}: {what}: {text!r}")
    wrong = [q for q, first in sent["first"].items() if not first]
    for query, hits in sent["first"].items():
        places = [hit.partition("?")[0].partition("#")[0].removesuffix(".html") for hit in hits]
        right = bool(places) and places[0] in QUERIES[query].split()
        wrong += [] if right else [query]
        print(f"{'right' if right else 'WRONG'}: {query}: {', '.join(hits)}")
    longest = sorted(sent["screens"]["390"].items(), key=lambda item: -item[1])[:8]
    print("screens at 390 px:", ", ".join(f"{page} {screens}" for page, screens in longest))
    print(f"{len(pages)} pages, {len(sent['found'])} cut, {len(wrong)} searches wrong")
    sys.exit(bool(sent["found"] or wrong))

// The cases of ports.sh: node ports.mjs BRIGD CHROMIUM
//
// Two sandboxes serve pages to one visitor's browser. The page of the first attacks brigd and the second; its own fetch,
// cookies, WebSocket, events and service worker work. The browser is driven by its own protocol, over a pipe.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";

const [brigd, chromium] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), "brig-ports-"));
const key = randomBytes(32).toString("hex");
let failed = 0, passed = 0;

function check(ok, what, detail) {
  if (ok) return void passed++;
  failed++;
  console.log(`FAIL ${what}\n     ${JSON.stringify(detail)?.slice(0, 1500)}`);
}

// served starts brigd with its ports below a name, and returns the process and its TCP port.
function served(host) {
  const keys = join(dir, "keys");
  writeFileSync(keys, `visitor ${key}\n`, { mode: 0o600 });
  const server = spawn(brigd, ["serve", "--listen", "tcp:127.0.0.1:0", "--api-key-file", keys, "--port-host", host], { stdio: ["ignore", "inherit", "pipe"] });
  const log = [];
  return new Promise((found, lost) => {
    server.on("exit", () => lost(new Error(`brigd has ended:\n${log.join("\n")}`)));
    createInterface(server.stderr).on("line", (line) => {
      log.push(line);
      const m = line.match(/listen=.*tcp:127\.0\.0\.1:(\d+)/);
      if (m) found({ server, port: m[1] });
    });
  });
}

async function api(port, method, path, body) {
  const r = await fetch(`http://127.0.0.1:${port}/v1/sandboxes${path}`, { method, headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }, body: body && JSON.stringify(body) });
  const text = await r.text();
  if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${text}`);
  return text && JSON.parse(text);
}

// box makes a sandbox with the server of ports.py, and returns a link to it.
async function box(port) {
  const { id } = await api(port, "POST", "", { living: true, files: { "ports.py": readFileSync("scripts/ports.py", "utf8") } });
  const p = await api(port, "POST", `/${id}/processes`, { cmd: ["python3", "/input/ports.py"], tag: "web" });
  for (let said = ""; !said.includes("up"); ) {
    const out = await api(port, "GET", `/${id}/processes/web/output?wait=30s`);
    said = out.output.map((o) => o.data).join("");
    if (!out.running) throw new Error(said);
  }
  return { id, url: (await api(port, "POST", `/${id}/ports/8000`)).url, p };
}

// seen returns the requests that a sandbox's server has seen, as lines.
const seen = async (port, id) => (await api(port, "GET", `/${id}/processes/web/output`)).output.map((o) => o.data).join("");

// Browser speaks the Chrome DevTools Protocol over the pipe at descriptors 3 and 4: JSON, each message with a NUL behind it.
class Browser {
  constructor() {
    this.process = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", `--user-data-dir=${mkdtempSync(join(dir, "profile-"))}`, "--remote-debugging-pipe", "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.waiting = new Map();
    this.last = 0;
    let text = "";
    this.process.stdio[4].setEncoding("utf8").on("data", (more) => {
      text += more;
      for (let end; (end = text.indexOf("\0")) >= 0; text = text.slice(end + 1)) {
        const m = JSON.parse(text.slice(0, end));
        this.waiting.get(m.id)?.(m);
        this.waiting.delete(m.id);
      }
    });
  }
  send(method, params = {}, sessionId) {
    const id = ++this.last;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((done, lost) => this.waiting.set(id, (m) => (m.error ? lost(new Error(`${method}: ${JSON.stringify(m.error)}`)) : done(m.result))));
  }
  // open opens an address in a tab of its own.
  async open(url) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const tab = { run: (code) => this.run(sessionId, code), go: (to) => this.go(sessionId, to) };
    await tab.go(url);
    return tab;
  }
  async go(session, url) {
    await this.send("Page.navigate", { url }, session);
    for (const end = Date.now() + 20_000; Date.now() < end; await new Promise((r) => setTimeout(r, 20))) {
      if (await this.run(session, "return document.readyState == 'complete' && location.href != 'about:blank'").catch(() => false)) return;
    }
    throw new Error(`${url} does not load`);
  }
  // run runs the body of an async function in a page, as its own scripts run.
  async run(sessionId, code) {
    const r = await this.send("Runtime.evaluate", { expression: `(async () => { ${code} })()`, awaitPromise: true, returnByValue: true, userGesture: true }, sessionId);
    if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description ?? r.exceptionDetails.text);
    return r.result.value;
  }
}

// Each is an attack of the first page's, which returns "" if it has got nothing. T is the second page's origin, and A
// brigd's; `here` returns whether a promise is kept.
const helpers = `
const soon = (p) => Promise.race([p, new Promise((r) => setTimeout(() => r("silence"), 1500))]);
const get = (url, o) => soon(fetch(url, o).then(async (r) => r.type == "opaque" ? "" : r.status + await r.text(), () => ""));
const socket = (url) => soon(new Promise((r) => { const w = new WebSocket(url); w.onopen = () => r("open"); w.onerror = () => r(""); }));
const frame = (url) => soon(new Promise((r) => { const f = document.body.appendChild(document.createElement("iframe")); f.src = url;
  f.onload = () => { try { r(f.contentDocument?.body.innerText ?? ""); } catch { r(""); } }; }));
const submit = (url) => { const f = document.createElement("form"), i = document.createElement("iframe"); f.method = "POST"; f.action = url;
  f.target = i.name = "x" + Math.random(); document.body.append(f, i); f.submit(); return soon(new Promise((r) => { i.onload = () => r(""); })); };
`;
const attacks = {
  "fetch with cookies": `return get(T + "/stolen", { credentials: "include" })`,
  "fetch without CORS": `return get(T + "/stolen", { mode: "no-cors", credentials: "include" })`,
  "fetch by POST": `return get(T + "/stolen", { method: "POST", mode: "no-cors", credentials: "include", body: "x" })`,
  "fetch with a preflight": `return get(T + "/stolen", { method: "PUT", credentials: "include", headers: { "x-a": "b" } })`,
  "a form": `return submit(T + "/stolen")`,
  "a script": `return soon(new Promise((r) => { const s = document.createElement("script"); s.src = T + "/stolen.js"; s.onload = () => r("loaded"); s.onerror = () => r(""); document.body.append(s); }))`,
  "an image": `return soon(new Promise((r) => { const i = new Image(); i.src = T + "/stolen"; i.onload = () => r("loaded"); i.onerror = () => r(""); }))`,
  "a frame": `return frame(T + "/stolen")`,
  "a WebSocket": `return socket(T.replace("http", "ws") + "/stolen")`,
  "events": `return soon(new Promise((r) => { const e = new EventSource(T + "/stolen", { withCredentials: true }); e.onopen = () => r("open"); e.onerror = () => r(""); }))`,
  "a beacon": `navigator.sendBeacon(T + "/stolen", "x"); return ""`,
  "a service worker": `return navigator.serviceWorker.register("/sw.js", { scope: T + "/" }).then(() => "registered", () => "")`,
  "storage": `return localStorage.getItem("secret") ?? ""`,
  "brigd by fetch": `return get(A + "/v1/sandboxes", { credentials: "include" })`,
  "brigd by fetch without CORS": `return get(A + "/v1/sandboxes", { mode: "no-cors", method: "POST", credentials: "include", body: "{}" })`,
  "brigd by a form": `return submit(A + "/v1/sandboxes")`,
  "brigd by a frame": `return frame(A + "/v1/sandboxes")`,
  "brigd's path to a port by a frame": `return frame(A + "/v1/sandboxes/" + V + "/ports/8000/stolen")`,
  "brigd's path to a port by a WebSocket": `return socket(A.replace("http", "ws") + "/v1/sandboxes/" + V + "/ports/8000/stolen")`,
  "brigd by its own origin": `return get("/v1/sandboxes").then((t) => t.includes('"sandboxes"') ? t : "")`,
  "the cookie": `return document.cookie.includes("brig-port") ? document.cookie : ""`,
};

const own = {
  "fetch": [`return (await (await fetch("/echo?a=b", { method: "POST", body: "text", headers: { authorization: "Bearer page", "x-a": "b" } })).json()).body`, "text"],
  "its Authorization": [`return (await (await fetch("/echo", { headers: { authorization: "Bearer page" } })).json()).headers.authorization`, "Bearer page"],
  "its cookies alone go in": [`document.cookie = "mine=1"; return (await (await fetch("/echo")).json()).headers.cookie`, "server=1; mine=1"],
  "Host and Origin agree": [`const h = (await (await fetch("/echo", { method: "POST" })).json()).headers; return h.origin + " " + (h["x-forwarded-host"] == location.host)`, "http://localhost:8000 true"],
  "a WebSocket": [`return new Promise((r, no) => { const w = new WebSocket("ws://" + location.host + "/ws"); w.onopen = () => w.send("hello"); w.onmessage = (m) => r(m.data); w.onerror = no; })`, "hello"],
  "events": [`return new Promise((r, no) => { const e = new EventSource("/events"); e.onmessage = (m) => { e.close(); r(m.data); }; e.onerror = no; })`, "1"],
  "a service worker": [`await navigator.serviceWorker.register("/sw.js"); await navigator.serviceWorker.ready; return "ready"`, "ready"],
  "a form": [`const f = document.createElement("form"), i = document.createElement("iframe"); f.method = "POST"; f.action = "/page";
    f.target = i.name = "own"; document.body.append(f, i); f.submit(); await new Promise((r) => (i.onload = () => i.contentDocument.body?.innerText && r())); return i.contentDocument.body.innerText`, "page"],
  "a redirect": [`return (await fetch("/away")).url.slice(location.origin.length)`, "/page"],
};

// Below localhost two ports are two sites for a browser; below another name they are one, and share what is a site's.
async function main(host) {
  const { server, port } = await served(host);
  const browser = new Browser();
  try {
    const [attacker, victim] = [await box(port), await box(port)];
    const [a, b] = [await browser.open(attacker.url), await browser.open(victim.url)];
    const T = await b.run("return location.origin"), mine = await a.run("return location.origin + ' ' + location.search");
    check(mine === `${new URL(attacker.url).origin} ` && T === new URL(victim.url).origin, "the key is not in the address", mine);
    check(await b.run(`localStorage.setItem("secret", "x"); return document.body.innerText`) === "page", "the visitor sees the page", T);
    for (const [name, [code, want]] of Object.entries(own)) {
      const got = await a.run(code).catch(String);
      check(got === want, `${host}: its own ${name}`, got);
    }
    for (const [name, code] of Object.entries(attacks)) {
      const got = await a.run(`const T = ${JSON.stringify(T)}, A = "http://localhost:${port}", V = ${JSON.stringify(victim.id)}; ${helpers} ${code}`).catch(String);
      check(got === "" || /^(401|403)/.test(got), `${host}: ${name}`, got);
    }
    // What a page can plant in the browser for all names does not stand for anybody, and takes nobody's place.
    await a.run(`for (const c of ["brig-port=planted; Domain=${host}", "brig-port=planted; Path=/", "spread=1; Domain=${host}"]) document.cookie = c`);
    check(await b.run(`return (await fetch("/echo")).status`) === 200, "a planted cookie takes nobody's place", null);
    // Another tab: a link may be followed, and its window is out of reach.
    const window = await a.run(`const w = open(${JSON.stringify(T + "/page")}); for (let i = 0; i < 100; i++) {
      await new Promise((r) => setTimeout(r, 20)); try { if (w.document.body.innerText) return w.document.body.innerText; } catch (e) { return e.name; } }`);
    check(window === "SecurityError", "a window is out of reach", window);
    const log = await seen(port, victim.id), unasked = log.split("\n").filter((l) => l.includes("stolen"));
    check(unasked.length === 0 && log.includes("GET /echo"), "no request of the other page has reached the second sandbox", unasked);
    check(!log.includes("brig-port") && !log.includes(key) && !log.includes("brig-key"), "no key has reached it", log);
    const boxes = (await api(port, "GET", "")).sandboxes;
    check(boxes.length === 2, "the page has made no sandbox", boxes);
    // The link has been used, and its cookie ends with the sandbox.
    const again = await fetch(victim.url.replace(/\/\/[^:]*:/, "//127.0.0.1:"), { redirect: "manual" });
    check(again.status === 401, "the link has no power at brigd's own name", again.status);
    await api(port, "DELETE", `/${victim.id}`);
    check(await b.run(`return (await fetch("/echo")).status`) === 404, "the page ends with the sandbox", null);
  } finally {
    const ended = Promise.all([server, browser.process].map((p) => new Promise((done) => p.once("close", done))));
    server.removeAllListeners("exit");
    browser.send("Browser.close").catch(() => {});
    server.kill("SIGTERM");
    await ended;
  }
}

const began = Date.now();
try {
  await main("localhost");
  await main("ports.localhost");
} finally {
  rmSync(dir, { recursive: true, force: true });
}
console.log(`${passed} checks passed, ${failed} failed, in ${Math.round((Date.now() - began) / 1000)} s`);
process.exit(failed ? 1 : 0);

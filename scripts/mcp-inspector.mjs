// The cases of mcp-inspector.sh: node mcp-inspector.mjs BRIGD INSPECTOR
//
// The inspector makes a session for each call, so that what needs several calls in one session, progress and cancelling is
// done with the protocol's own TypeScript SDK, which the inspector brings along.
import { execFile, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";

const [brigd, installed] = process.argv.slice(2);
const modules = resolve(installed, "node_modules");
const require = createRequire(join(modules, "x.js"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const yaml = resolve("docs/tools.example.yaml");
const key = randomBytes(32).toString("hex");
const dir = mkdtempSync(join(tmpdir(), "brig-mcp-"));
let failed = 0, passed = 0;

function check(ok, what, detail) {
  if (ok) return void passed++;
  failed++;
  console.log(`FAIL ${what}\n     ${JSON.stringify(detail)?.slice(0, 1500)}`);
}

// inspect runs the inspector once: what it prints is JSON, or it exits with an error.
function inspect(target, args) {
  const cli = join(modules, "@modelcontextprotocol/inspector/cli/build/cli.js");
  return new Promise((done) => {
    execFile("node", [cli, "--cli", ...target, ...args], { timeout: 60_000, maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      let json;
      try { json = JSON.parse(stdout); } catch { /* an error: stdout is empty */ }
      done({ code: error ? (error.code ?? 1) : 0, json, stdout, stderr });
    });
  });
}

const call = (tool, args) => ["--method", "tools/call", "--tool-name", tool,
  ...Object.entries(args).flatMap(([k, v]) => ["--tool-arg", `${k}=${typeof v === "string" ? v : JSON.stringify(v)}`])];

const names = ["analyze_code", "column_mean", "count_lines", "delete_file", "delete_snapshot", "list_files", "list_languages", "list_processes", "list_snapshots", "process_output", "read_file", "restore_snapshot", "run_code", "run_command", "search", "send_input", "start_process", "stop_process", "take_snapshot", "write_file"];

// Each is a tool, its arguments, whether the result is an error, and what it says.
const every = [
  ["run_code", { language: "python", code: "import sys; print(6*7, sys.argv[1:])", args: ["a b"] }, false, (r) => r.structuredContent.stdout === "42 ['a b']\n"],
  ["run_command", { cmd: ["sh", "-c", "cat; echo >&2 err"], stdin: "in", timeout: 10 }, false, (r) => r.structuredContent.stdout === "in" && r.structuredContent.stderr === "err\n"],
  ["write_file", { path: "/work/a.txt", content: "text" }, false, (r) => r.structuredContent.file.size === 4],
  ["list_files", { path: "/work" }, false, (r) => r.structuredContent.files.length === 0],
  ["start_process", { shell: "echo up; sleep 1000", name: "s" }, false, (r) => r.structuredContent.process.running],
  ["list_processes", {}, false, (r) => r.structuredContent.processes.length === 0], // each call has a session of its own here
  ["process_output", { process: "s" }, true, (r) => r.structuredContent.error.next_steps.length > 0],
  ["send_input", { process: "s", text: "x" }, true, (r) => r.structuredContent.error.next_steps.length > 0],
  ["stop_process", { process: "s" }, true, (r) => r.structuredContent.error.next_steps.length > 0],
  ["list_languages", {}, false, (r) => r.structuredContent.languages.some((l) => l.language === "python")],
  ["analyze_code", { code: "print('$(id) {{code}}')" }, false, (r) => r.structuredContent.stdout === "$(id) {{code}}\n"],
  ["column_mean", { table: "a,b\n1,2\n1,4\n", column: "b" }, false, (r) => r.structuredContent.stdout === "3.0\n"],
  ["search", { text: "x", path: "/input" }, true, (r) => r.structuredContent.status === "failed" && r.structuredContent.exit_code === 1],
  // A program that fails is a result.
  ["run_command", { cmd: ["sh", "-c", "exit 3"] }, true, (r) => r.structuredContent.exit_code === 3],
  ["run_command", { cmd: ["sleep", "60"], timeout: 0.3 }, true, (r) => r.structuredContent.status === "timeout"],
  // So is a refusal, with what to do.
  ["read_file", { path: "/work/none" }, true, (r) => r.structuredContent.error.next_steps.length > 0],
  ["delete_file", { path: "/etc/passwd" }, true, (r) => r.structuredContent.error.layer === "sandbox"],
  ["run_code", { language: "cobol", code: "x" }, true, (r) => r.structuredContent.error.next_steps.length > 0],
  ["run_command", { cmd: ["id"], sandbox: "other" }, true, (r) => r.structuredContent.error.code === "unknown_field"],
  ["count_lines", { files: [] }, true, (r) => r.structuredContent.error.code === "invalid_argument"],
  ["search", { text: "x", path: "--help" }, true, (r) => r.structuredContent.error.layer === "request"],
];

// More of them where ports have origins: a server that nothing else reaches has none.
const more = {
  http: { names: ["open_port"], cases: [["open_port", { port: 8000 }, true, (r) => r.structuredContent.error.next_steps.length > 0]] },
  stdio: { names: [], cases: [] },
};

async function withInspector(name, target) {
  const all = [...names, ...more[name].names].sort(), cases = [...every, ...more[name].cases];
  const list = await inspect(target, ["--method", "tools/list"]);
  check(list.code === 0 && JSON.stringify(list.json?.tools.map((t) => t.name).sort()) === JSON.stringify(all), `${name}: tools/list`, list);
  check(list.json?.tools.every((t) => t.description && t.inputSchema && !t.outputSchema && t.annotations), `${name}: every tool is described`, list.json);
  for (let i = 0; i < cases.length; i += 2) { // two at a time
    await Promise.all(cases.slice(i, i + 2).map(async ([tool, args, isError, right]) => {
      const r = await inspect(target, call(tool, args));
      let ok = false;
      try { ok = r.code === 0 && (r.json.isError ?? false) === isError && right(r.json); } catch { /* not what was wanted */ }
      check(ok, `${name}: ${tool} ${JSON.stringify(args)}`, r);
    }));
  }
  const unknown = await inspect(target, call("no_such_tool", {}));
  check(unknown.code !== 0 && !unknown.json, `${name}: an unknown tool is an error of the protocol`, unknown);
}

// alive says whether a process of this machine has the words in its command line.
function alive(words) {
  return readdirSync("/proc").some((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try { return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(words); } catch { return false; }
  });
}

async function eventually(what, is) {
  const end = Date.now() + 10_000;
  while (!is() && Date.now() < end) await new Promise((r) => setTimeout(r, 20));
  check(is(), what, "not within 10 s");
}

async function oneSession(name, transport) {
  const client = new Client({ name: "brig-test", version: "1" });
  await client.connect(transport);
  const tool = (name, args, o) => client.callTool({ name, arguments: args }, undefined, o);
  await tool("write_file", { path: "in/a.txt", content: "one\ntwo\n" });
  let r = await tool("count_lines", { files: ["/work/in/a.txt"] });
  check(r.structuredContent.stdout === "2 /work/in/a.txt\n", `${name}: files stay in a session`, r);
  await tool("run_command", { cmd: ["sh", "-c", "echo three >/output/b"] });
  r = await tool("read_file", { path: "/output/b" });
  check(r.structuredContent.content === "three\n", `${name}: read_file reads what a run wrote`, r);
  r = await tool("delete_file", { path: "/output/b" });
  check(!r.isError, `${name}: delete_file`, r);

  // What one call starts, the next ones find.
  r = await tool("start_process", { cmd: ["python3", "-u", "-m", "http.server", "8000"], name: "web" });
  for (let said = ""; !r.isError && !said.includes("Serving"); said = r.structuredContent.output) r = await tool("process_output", { process: "web", offset: 0, wait: "30s" });
  r = await tool("run_code", { language: "python", code: "import urllib.request as u; print(u.urlopen('http://localhost:8000/in/a.txt').read())" });
  check(r.structuredContent.stdout === "b'one\\ntwo\\n'\n", `${name}: a server goes on between calls`, r);
  r = await tool("run_command", { cmd: ["cat", "in/a.txt"], network: ["example.org:443"] });
  check(r.structuredContent.stdout === "one\ntwo\n", `${name}: a jail of its own beside it`, r);
  if (name === "http") {
    r = await tool("open_port", { port: 8000 });
    check(/^http:\/\/8000-sb-[a-z2-7]+\.localhost:\d+\/\?/.test(r.structuredContent.url) && r.structuredContent.ports[0].port === 8000, `${name}: open_port`, r);
  }
  r = await tool("stop_process", { process: "web" });
  check(!r.isError && !r.structuredContent.process.running, `${name}: stop_process`, r);

  // Cancel a call once its program says that it runs.
  const seconds = `${86400 + Math.floor(Math.random() * 1e6)}.25`, abort = new AbortController(), messages = [];
  const start = Date.now();
  try {
    await tool("run_command", { cmd: ["sh", "-c", `echo ready; sleep ${seconds}`], timeout: "1h" }, {
      signal: abort.signal, timeout: 30_000,
      onprogress: (p) => {
        messages.push(p);
        if (p.message?.includes("ready")) {
          check(alive(`sleep\0${seconds}`), `${name}: the program runs before it is cancelled`, p);
          abort.abort("enough");
        }
      },
    });
    check(false, `${name}: the call was not cancelled`, messages);
  } catch (e) {
    check(abort.signal.aborted, `${name}: cancelled`, String(e));
  }
  check(messages.length > 0 && messages.every((p, i) => i === 0 || p.progress > messages[i - 1].progress), `${name}: progress grows`, messages);
  await eventually(`${name}: the cancelled program has ended`, () => !alive(`sleep\0${seconds}`));
  console.log(`${name}: cancelled and gone after ${Date.now() - start} ms`);
  r = await tool("run_command", { cmd: ["echo", "on"] });
  check(r.structuredContent.stdout === "on\n", `${name}: the session goes on`, r);

  // The end of the session is the end of what runs.
  const last = `${86400 + Math.floor(Math.random() * 1e6)}.5`;
  tool("run_command", { cmd: ["sleep", last], timeout: "1h" }).catch(() => {});
  await eventually(`${name}: another program runs`, () => alive(`sleep\0${last}`));
  if (transport.terminateSession) await transport.terminateSession();
  await client.close();
  await eventually(`${name}: the session's end ends it`, () => !alive(`sleep\0${last}`));
}

async function overStdio() {
  await withInspector("stdio", [brigd, "mcp", "--tools", yaml]);
  await oneSession("stdio", new StdioClientTransport({ command: brigd, args: ["mcp", "--tools", yaml], stderr: "ignore" }));
}

async function overHTTP() {
  const keys = join(dir, "keys");
  writeFileSync(keys, `inspector ${key}\n`, { mode: 0o600 });
  const server = spawn(brigd, ["mcp", "--http", "--listen", "tcp:127.0.0.1:0", "--api-key-file", keys, "--port-host", "localhost", "--tools", yaml], { stdio: ["ignore", "inherit", "pipe"] });
  const log = [];
  const port = await new Promise((found, lost) => {
    server.on("exit", () => lost(new Error(`brigd has ended:\n${log.join("\n")}`)));
    createInterface(server.stderr).on("line", (line) => {
      log.push(line);
      const m = line.match(/listen=.*tcp:127\.0\.0\.1:(\d+)/);
      if (m) found(m[1]);
    });
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  try {
    await withInspector("http", [url, "--transport", "http", "--header", `Authorization: Bearer ${key}`]);
    const wrong = await inspect([url, "--transport", "http", "--header", "Authorization: Bearer wrong"], ["--method", "tools/list"]);
    check(wrong.code !== 0 && !wrong.json, "http: a wrong key is refused", wrong);
    const none = await inspect([url, "--transport", "http"], ["--method", "tools/list"]);
    check(none.code !== 0 && !none.json, "http: no key is refused", none);
    await oneSession("http", new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }));
  } finally {
    const ended = new Promise((done) => server.once("close", done));
    server.kill("SIGTERM");
    await ended;
  }
}

const began = Date.now();
try {
  await overStdio();
  await overHTTP();
} finally {
  rmSync(dir, { recursive: true });
}
console.log(`${passed} checks passed, ${failed} failed, in ${Math.round((Date.now() - began) / 1000)} s`);
process.exit(failed ? 1 : 0);

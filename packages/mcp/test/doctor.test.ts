import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EmulatorOptions } from "@sluice/emulator";
import { assumptions } from "@sluice/emulator/assumptions";
import { createReplay, readRecordings } from "@sluice/emulator/recordings";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Report } from "../src/doctor/diagnose.js";
import { ADDRESS, type Fetch, KEY, listNames, openDoctor, openEmulator } from "./support/doctor.js";

const IMAGE = "gamma-image-5-0-260128";
const VIDEO = "gamma-video-1-0-pro-fast-251015";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-doctor-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function writePrices(): string {
  const path = join(makeFolder(), "prices.json");
  const models = { [IMAGE]: { image: 0.03 }, [VIDEO]: { second: { "480p": 0.02 } } };
  writeFileSync(path, JSON.stringify({ currency: "EUR", models }));
  return path;
}

const spendAll = () => ["--spend", "chat", "--spend", IMAGE, "--spend", VIDEO, "--prices", writePrices()];

/** Names of the assumptions that a request to a gateway can check. */
const checked = Object.entries(assumptions)
  .filter(([, { check, group }]) => check !== "use" && group !== "Worker")
  .map(([name]) => name as NonNullable<EmulatorOptions["differs"]>[number]);

describe("sluice doctor against the emulator", () => {
  test("finds that every assumption holds, and says which settings fit", async () => {
    const { doctor } = openEmulator();
    const { code, out } = await doctor([...spendAll(), "--json"]);
    const report = JSON.parse(out) as Report;
    expect(listNames("holds", report).sort()).toEqual([...checked].sort());
    expect(report).toMatchObject({
      kind: "emulator",
      settings: {
        baseURL: ADDRESS,
        gateway: { includeUsage: true, assetLookup: "/gamma/asset/GetAsset" },
      },
    });
    expect(code).toBe(0);
  });

  test.each(checked)("finds a gateway that breaks %s", async (name) => {
    const { doctor } = openEmulator({ differs: [name] });
    const { code, out } = await doctor([...spendAll(), "--json"]);
    expect(listNames("differs", JSON.parse(out))).toContain(name);
    expect(code).toBe(1);
  });
});

describe("Without --spend, sluice doctor", () => {
  test("sends no request that the gateway charges", async () => {
    const { doctor, emulator } = openEmulator();
    const { out } = await doctor(["--json"]);
    const requests = emulator.requests.filter(({ status = 0 }) => status < 400);
    expect(requests.map(({ path }) => path)).toEqual(["/"]);
    expect(JSON.parse(out).requests).toBe(emulator.requests.length);
  });

  test("says which rows need it", async () => {
    const { doctor } = openEmulator();
    const { out } = await doctor([]);
    expect(out).toMatch(/\n {2}7 rows: only use shows them\n {2}17 rows need --spend chat\n/);
  });
});

test("sluice doctor finds no endpoint where every address gets the same response", async () => {
  const doctor = openDoctor(async () => Response.json({ message: "choose a provider" }, { status: 400 }));
  const { out } = await doctor(["--json"]);
  const report = JSON.parse(out) as Report;
  const rows = report.rows.filter(({ name }) => /-path$|^asset-lookup$|^key-/.test(name));
  expect(report).toMatchObject({ kind: "indistinct", settings: { baseURL: ADDRESS } });
  expect(report.settings).not.toHaveProperty("gateway");
  expect(rows.filter(({ verdict }) => verdict === "holds")).toEqual([]);
  expect(rows.map(({ found }) => found)).toContain("an unknown path gets the same response");
});

test("sluice doctor sends a request again after a 429", async () => {
  const { emulator } = openEmulator();
  let requests = 0;
  const busy = (): Response =>
    Response.json({ error: { message: "busy" } }, { status: 429, headers: { "retry-after": "2" } });
  const doctor = openDoctor(async (request) => (requests++ % 2 === 0 ? busy() : emulator.fetch(request)));
  const { code } = await doctor([]);
  expect(code).toBe(0);
});

test("a stopped sluice doctor says what may be charged, and has written what it received", async () => {
  const stop = new AbortController();
  const { emulator } = openEmulator();
  const doctor = openDoctor(async (request) => {
    const text = await request.clone().text();
    if (text.includes("Count to 20")) stop.abort(new Error("Stopped by SIGINT."));
    return emulator.fetch(request);
  });
  const folder = makeFolder();
  const args = ["--spend", "chat", "--write", folder];
  const { code, err, out } = await doctor(args, { signal: stop.signal });
  expect(err).toMatch(
    /\nWhat was sent until now may be charged\.\n\S+ has the recordings until now\.\nStopped by SIGINT\.\n$/,
  );
  expect(readRecordings(join(folder, "recordings")).length).toBeGreaterThan(10);
  expect([code, out]).toEqual([130, ""]);
});

test("the guide shows the real output", async () => {
  const guide = readFileSync(new URL("../../../docs/guides/mcp.md", import.meta.url), "utf8");
  const [, sample = ""] = /```txt\n(.*?)```/s.exec(guide) ?? [];
  const { emulator } = openEmulator({ differs: ["request-id"] });
  const doctor = openDoctor(async (request) =>
    new URL(request.url).pathname === "/" ? new Response("", { status: 404 }) : emulator.fetch(request),
  );
  const lines = (await doctor([])).out.split("\n");
  for (const line of sample.split("\n")) if (line !== "  …") expect(lines).toContain(line);
});

describe("sluice doctor --spend", () => {
  test("spends at most 200 tokens on each model, and says so first", async () => {
    const { doctor, emulator } = openEmulator();
    const { err, out } = await doctor(["--spend", "chat", "--json"]);
    expect(err).toBe(
      ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"]
        .map((model) => `May be charged: up to 200 tokens of ${model}\n`)
        .join(""),
    );
    const chats = emulator.requests.filter(({ status, method }) => status === 200 && method === "POST");
    const limits = chats.map(({ body }) => body as { model: string; max_tokens: number });
    for (const model of new Set(limits.map((body) => body.model))) {
      const own = limits.filter((body) => body.model === model).map((body) => body.max_tokens);
      expect(own.reduce((sum, max) => sum + max, 0)).toBeLessThanOrEqual(100);
    }
    expect(JSON.parse(out).tokens).toBeLessThanOrEqual(600);
  });

  test("sends no more to a model that has used its tokens", async () => {
    const { doctor, emulator } = openEmulator({ differs: ["max-tokens"] });
    await doctor(["--spend", "chat"]);
    const chats = emulator.requests.filter(({ status, method }) => status === 200 && method === "POST");
    expect(chats).toHaveLength(3);
  });

  test("does not call a stream buffered that a fast server writes at once", async () => {
    const { doctor } = openEmulator({ differs: ["unbuffered"], speed: Number.POSITIVE_INFINITY });
    const { out, code } = await doctor(["--spend", "chat"]);
    expect(out).toContain("\n  unbuffered: the stream was too fast to tell\n");
    expect(code).toBe(0);
  });

  test("chats with one model of another server", async () => {
    const { doctor, emulator } = openEmulator();
    await doctor(["--spend", "chat", "--model", "delta-5.3"]);
    const models = emulator.requests.flatMap(({ body, status }) =>
      status === 200 && body ? [(body as { model: string }).model] : [],
    );
    expect(new Set(models)).toEqual(new Set(["delta-5.3"]));
  });

  test("names the price of images and videos from the app's table first", async () => {
    const { doctor, emulator } = openEmulator();
    const { err } = await doctor(["--spend", IMAGE, "--spend", VIDEO, "--prices", writePrices()]);
    // the last query is the first that sees the end
    expect(emulator.requests.filter(({ path }) => /generations\/task-/.test(path)).length).toBeLessThan(20);
    expect(err).toMatch(
      `May be charged: 1 image of ${IMAGE}, 0.03 EUR\nMay be charged: 1 video of ${VIDEO}, 0.04 EUR\nThe video task`,
    );
  });

  test.each([
    [["--spend", IMAGE], /needs your prices: --prices prices\.json/],
    [["--spend", "beta3.0-video", "--prices"], /has no price of beta3\.0-video/],
    [["--spend", "images"], /give chat, or the id of an image or video model\./],
    [["--spend", "delta-5.3"], /--model names a chat model/],
    [["--model", "delta-5.3"], /--model needs --spend chat/],
    [["--origin", "my-app"], /my-app is not an address/],
    [["https://other.example.com"], /Give one address/],
  ])("sends nothing with %j", async (args, message) => {
    const { doctor, emulator } = openEmulator();
    const { code, err } = await doctor(args.at(-1) === "--prices" ? [...args, writePrices()] : args);
    expect(err).toMatch(message);
    expect([code, emulator.requests.length]).toEqual([2, 0]);
  });
});

test("--dry-run prints each request, and sends none", async () => {
  const { doctor, emulator } = openEmulator();
  const { code, out } = await doctor(["--dry-run", "--spend", "chat"]);
  expect([code, emulator.requests.length]).toEqual([0, 0]);
  await doctor(["--spend", "chat"]);
  for (const { method, path, body } of emulator.requests) {
    expect(out).toContain(`${method.padEnd(7)}  ${ADDRESS}${path}\n`);
    if (body) expect(out).toContain(`  ${JSON.stringify(body)}\n`);
  }
});

test("--dry-run says which key is sent, and what may be charged for which price", async () => {
  const { doctor } = openEmulator();
  const args = ["--dry-run", "--spend", "chat", "--model", "delta-5.3", "--spend", IMAGE];
  const prices = ["--prices", writePrices()];
  const { out } = await doctor([...args, ...prices]);
  expect(out).toContain(
    `\nMay be charged: up to 200 tokens of delta-5.3\nMay be charged: 1 image of ${IMAGE}, 0.03 EUR\nPOST `,
  );
  expect(out).toContain("your key");
  const { out: keyless } = await doctor([...args, ...prices], { env: { GATEWAY_API_KEY: "" } });
  expect(keyless).not.toContain("your key");
});

test("--write writes recordings without the key, which the emulator replays", async () => {
  const { doctor } = openEmulator();
  const folder = join(makeFolder(), "gateway");
  const args = ["--spend", "chat", "--json"];
  const { out } = await doctor([...args, "--write", folder]);
  expect(readdirSync(folder).sort()).toEqual(["recordings", "report.json", "report.md"]);
  const recordings = readRecordings(join(folder, "recordings"));
  const files = [
    join(folder, "report.md"),
    join(folder, "report.json"),
    ...recordings.map(({ name }) => join(folder, "recordings", name)),
  ];
  for (const file of files) expect(readFileSync(file, "utf8")).not.toContain(KEY);
  expect(readFileSync(join(folder, "report.md"), "utf8")).toContain("| `stream-done` |");

  const replay = createReplay({ recordings, speed: Number.POSITIVE_INFINITY });
  const again = await openDoctor(replay.fetch)(args);
  expect(listNames("holds", JSON.parse(again.out))).toEqual(listNames("holds", JSON.parse(out)));
  expect([...replay.misses, ...replay.unused()]).toEqual([]);
});

test("--write waits for a stream that ends after its last event", async () => {
  const { emulator } = openEmulator();
  const doctor = openDoctor(async (request) => {
    const { body, status, headers } = await emulator.fetch(request);
    const flush = () => new Promise<void>((resolve) => void setImmediate(resolve));
    return new Response(body?.pipeThrough(new TransformStream({ flush })) ?? null, { status, headers });
  });
  const folder = makeFolder();
  const { out } = await doctor(["--spend", "chat", "--json", "--write", folder]);
  expect(readRecordings(join(folder, "recordings"))).toHaveLength(JSON.parse(out).requests);
});

test("--write leaves a folder with files alone", async () => {
  const { doctor, emulator } = openEmulator();
  const folder = makeFolder();
  writeFileSync(join(folder, "notes.txt"), "mine");
  const { code, err } = await doctor(["--write", folder]);
  expect(err).toMatch(/the folder has files/);
  expect([code, emulator.requests.length]).toEqual([2, 0]);
});

describe("sluice doctor tells what an address is:", () => {
  const refuse = async (): Promise<Response> => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) });
  };
  const openAI: Fetch = async ({ url, method }) =>
    method === "POST" && url.endsWith("/v1/chat/completions")
      ? Response.json({ error: { message: "messages is required" } }, { status: 400 })
      : Response.json({ detail: "Not Found" }, { status: 404 });

  test.each([
    ["nothing", refuse, `${ADDRESS} does not respond: nothing listens there.\n`],
    ["a web page", async () => new Response("<!doctype html>"), `${ADDRESS} is not an API`],
    ["another server", openAI, `${ADDRESS} is an OpenAI-style server without videos.`],
  ])("%s", async (_, fetch, head) => {
    const { code, out } = await openDoctor(fetch)(["--spend", "chat"]);
    expect(out.replace(/\n(?! )/, " ")).toContain(head.replace(/\n$/, ""));
    expect(code).toBe(1);
  });

  test("an address without a known path says nothing about keys, and gets no settings and no chat", async () => {
    const requests: string[] = [];
    const doctor = openDoctor(async (request) => {
      requests.push(await request.text());
      return Response.json(
        { error: { message: `Not found: ${new URL(request.url).pathname}` } },
        { status: 404 },
      );
    });
    const args = ["--spend", "chat", "--model", "delta-5.3"];
    const { out } = await doctor(args);
    expect(out).toContain(`${ADDRESS} is an API without chats, images and videos at this\naddress.`);
    expect(out).toMatch(/\n {2}key-required, wrong-key, key-accepted: there is no chat endpoint\n/);
    expect(out).not.toContain("createClient");
    expect(requests.join()).not.toContain("Count to 20");
    const { rows } = JSON.parse((await doctor([...args, "--json"])).out) as Report;
    expect(rows.find(({ name }) => name === "chat-path")?.verdict).toBe("differs");
  });

  test("a server that ignores keys does not count as accepting yours", async () => {
    const { out } = await openDoctor(openAI)(["--json"]);
    expect(listNames("unclear", JSON.parse(out))).toContain("key-accepted");
  });

  test("a refusal with the status 200 says nothing about streams", async () => {
    const refusal = { error: { message: "Model 'delta-5.3' does not exist" } };
    const doctor = openDoctor(async (request) => {
      const { stream, messages } = (await request.json().catch(() => ({}))) as Record<string, unknown>;
      if (!messages) return openAI(request);
      if (!stream) return Response.json(refusal);
      const headers = { "content-type": "text/event-stream" };
      return new Response(`data: ${JSON.stringify(refusal)}\n\n`, { headers });
    });
    const { out } = await doctor(["--spend", "chat", "--model", "delta-5.3", "--json"]);
    const rows = (JSON.parse(out) as Report).rows.filter(({ check }) => check === "chat");
    expect(rows.filter(({ verdict }) => verdict !== "unclear")).toEqual([]);
    expect(rows.find(({ name }) => name === "client-stream")?.found).toBe(
      "200: Model 'delta-5.3' does not exist",
    );
  });

  test("a gateway without a key shows what it can, and says which variable is missing", async () => {
    const { emulator } = openEmulator();
    const doctor = openDoctor(async (request) =>
      request.url === `${ADDRESS}/` ? new Response("", { status: 404 }) : emulator.fetch(request),
    );
    const { out } = await doctor([], { env: { GATEWAY_API_KEY: "" } });
    expect(out).toMatch(/ is an API that refuses requests without a right key\.\s+16 requests\./);
    expect(out).toMatch(/\n {2}chat-path, .*key-accepted, [^:]*:\s+no key is set:\s+GATEWAY_API_KEY/s);
  });

  test("a server that responds to an empty chat gets no empty image or video", async () => {
    const paths: string[] = [];
    const { out, code } = await openDoctor(async ({ url, method }) => {
      const { pathname } = new URL(url);
      paths.push(pathname);
      if (pathname === "/v1/chat/completions")
        return Response.json({ choices: [{ message: { role: "assistant", content: "Hello" } }] });
      return Response.json({ message: `Cannot ${method} ${pathname}` }, { status: 404 });
    })(["--json"]);
    expect(paths).not.toContain("/v1/images/generations");
    expect(paths).not.toContain("/v1/video/generations");
    const report = JSON.parse(out) as Report;
    expect(listNames("differs", report)).toEqual(
      expect.arrayContaining(["invalid-request", "key-required", "asset-lookup", "epsilon-path"]),
    );
    expect(listNames("unclear", report)).toContain("image-path");
    expect(code).toBe(1);
  });

  test("a key that no header can have is a mistake, and is not shown", async () => {
    const { doctor, emulator } = openEmulator();
    const { code, err, out } = await doctor([], { env: { GATEWAY_API_KEY: `${KEY}\nsecond-line` } });
    expect(err).toMatch(/^apiKey: /);
    expect(err + out).not.toContain("second-line");
    expect([code, emulator.requests.length]).toEqual([2, 0]);
  });

  test("a server that echoes the key gets no key into the output", async () => {
    const echo: Fetch = async (request) =>
      Response.json(
        { error: { message: `no account for ${request.headers.get("authorization")}` } },
        { status: 500 },
      );
    const { out } = await openDoctor(echo)(["--json"]);
    expect(out).toContain("[redacted]");
  });
});

test.each([80, 40, 32])("no line of the output is longer than %i columns", async (columns) => {
  const { doctor } = openEmulator({ differs: ["error-body", "stream-done", "unknown-path"] });
  const { out } = await doctor(["--spend", "chat"], { columns });
  const [words = ""] = out.split("\nSettings that fit:");
  expect(words).toContain("stream-done");
  expect(words.split("\n").filter((line) => line.length > columns)).toEqual([]);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, expect } from "vitest";
import type { JobEvent } from "../../../worker-proxy/src/api/events.js";
import { bundle } from "../../../worker-proxy/test/support/bundle.js";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import {
  allowSmallParts,
  type Miniflare,
  startMiniflare,
  takeSmallParts,
} from "../../../worker-proxy/test/support/miniflare.js";
import { startUpstream } from "../../../worker-proxy/test/support/upstream.js";
import { openBucket, writeNodeProgram } from "./node-program.js";
import { host } from "./workerd.js";

const USUAL = "durable/test/fixture/media-worker.ts";
/** Starts of workerd for the file that runs; undefined where each proxy has its own. */
let shared: { readonly all: Promise<SharedWorkerd>[]; readonly workers: number; used: number } | undefined;

/** Size of each part of an upload but the last, in bytes, of proxies that share a workerd. */
export const PART = 65_536;

/**
 * The code of a Worker, where parts have the size {@link PART}: 8 MiB fill seconds of a test. The bundler has written the value
 * of the constant in most places. An event of a stream has the same bound, and keeps it.
 */
function withSmallParts(code: string): string {
  const small = code.replaceAll(/(?<!EVENT_BYTES = )\b8388608\b/g, String(PART));
  if (small === code) throw new Error("the size of a part has another value now: change it here");
  return small;
}

/**
 * Lets the proxies of a file that differ by their numbers alone share a workerd, each with its own Worker, bucket and objects.
 * Their uploads have small parts. Call it at the top of the file.
 *
 * @param workers Number of proxies of the file: each further one starts one more workerd.
 */
export function shareWorkerd(workers: number): void {
  beforeAll(() => {
    allowSmallParts();
    shared = { all: [], workers, used: 0 };
  });
  afterAll(async () => {
    const started = await Promise.all(shared?.all ?? []);
    shared = undefined;
    await Promise.all(started.map(({ dispose }) => dispose()));
  });
}

/**
 * The proxy with files in a real workerd, between real sockets, over miniflare's R2; or in a Node process, over a folder
 * or an S3 API: see `host` and `openBucket`.
 */
export async function startMediaProxy(store: object = {}, gateway?: string, worker: Worker = {}) {
  const { fixture = USUAL, bindings = {}, objects = { BUDGET: "Budget" } } = worker;
  const upstream = await startUpstream();
  const logs: string[] = [];
  // a binding takes no undefined
  const settings = JSON.parse(JSON.stringify(store)) as object;
  const texts = { UPSTREAM: gateway ?? upstream.url, GATEWAY_API_KEY: KEY, ...bindings };
  const classes = { MEDIA_INDEX: "MediaIndex", ...objects };
  const isUsual = Object.keys(worker).length === 0;
  const startInWorkerd = shared && isUsual ? startInShared : startInMiniflare;
  const start = host === "workerd" ? startInWorkerd : startOnNode;
  /** Time that the clock is ahead. */
  let aheadMs = 0;
  const { url, keys, stop, restart } = await start({
    code: shared && isUsual ? withSmallParts(await bundle(fixture)) : await bundle(fixture),
    texts,
    settings,
    classes,
    onLog: (line) => logs.push(line),
  });
  /** A request of a user, of `user-1` unless told otherwise. */
  const ask = (path: string, { user = "user-1", headers, ...init }: Asked = {}) =>
    fetch(new URL(path, url), { ...init, headers: { authorization: user, ...headers } });

  return {
    url,
    upstream,
    logs,
    ask,
    /** The events of uploads and copies. */
    events: () =>
      logs
        .filter((line) => /^\{"kind":"(?:upload|copy)"/.test(line))
        .map((line) => JSON.parse(line) as JobEvent),
    /** Does an operator's work for a user: `list`, `remove`, `erase` or `export`. */
    operate: async <T>(act: "list" | "remove" | "erase" | "export", more = "", user = "user-1") =>
      (await (await ask(`/tests/users/${act}/${user}/${more}`)).json()) as T,
    /** Sends bytes as a file, or as a part. */
    upload: (body: Uint8Array<ArrayBuffer>, { path = "/v1/uploads", method = "POST", ...asked }: Sent = {}) =>
      ask(path, {
        method,
        body,
        ...asked,
        headers: { "content-type": "application/octet-stream", ...asked.headers },
      }),
    /** Moves the clock of the Worker and its objects. */
    pass(ms: number) {
      aheadMs += ms;
      return ask(`/tests/clock?ms=${ms}`);
    },
    /** Lets all calls of the bucket by this name fail, or those of `complete` wait; none without a name. */
    fail: (call?: "put" | "delete" | "complete") => ask(`/tests/faulty${call ? `?call=${call}` : ""}`),
    /**
     * Ends the object of a user as an eviction does: what it was doing is cut off, its storage stays. On Node the process is
     * killed and started again.
     */
    evict: async (user = "user-1") =>
      void (await (restart ? restart(aheadMs) : ask("/tests/evict", { user }))),
    /** The ids of the copies of a user, also of those that are not whole, which nobody is told. */
    copies: async (user = "user-1") =>
      ((await (await ask("/tests/copies", { user })).json()) as { id: string }[]).map(({ id }) => id),
    /** Numbers of requests to the index and of its alarms. */
    operations: async () => (await (await ask("/tests/operations")).json()) as Record<string, number>,
    /** The names of all files in the bucket. */
    keys,
    /** Numbers of uploads in the bucket that are neither whole nor given up, and of those whose parts were to be put together. */
    uploads: async () =>
      (await (await ask("/tests/uploads")).json()) as { readonly open: number; readonly waiting: number },
    async close() {
      await stop();
      upstream.close();
    },
  };
}

/** A Worker with files, and what it is bound to. */
interface Program {
  readonly code: string;
  readonly texts: Readonly<Record<string, string>>;
  /** The numbers of its store. */
  readonly settings: object;
  /** Bindings to objects, with the names of their classes. */
  readonly classes: Readonly<Record<string, string>>;
  readonly onLog: (line: string) => void;
}

interface Running {
  readonly url: URL;
  keys(): Promise<readonly string[]>;
  stop(): Promise<void>;
  /** Kills it, and starts it again at the same address, with a clock that is ahead. */
  restart?(aheadMs: number): Promise<void>;
}

async function startInMiniflare(program: Program): Promise<Running> {
  const { onLog } = program;
  const miniflare = startMiniflare({
    handleStructuredLogs: ({ message }: { message: string }) => onLog(message),
    workers: [workerOf(program, "worker")],
  });
  await miniflare.ready;
  return {
    url: await miniflare.unsafeGetDirectURL("worker"),
    keys: () => keysIn(miniflare, "worker"),
    stop: () => miniflare.dispose(),
  };
}

/** A workerd with some Workers of one code, which are used one after the other. */
interface SharedWorkerd {
  readonly miniflare: Miniflare;
  /** Receivers of the lines that the Workers log, by the names of these. */
  readonly logs: Map<string, Program["onLog"]>;
  dispose(): Promise<void>;
}

async function startSharedWorkerd(program: Program, count: number): Promise<SharedWorkerd> {
  const logs = new Map<string, Program["onLog"]>();
  const miniflare = startMiniflare({
    handleStructuredLogs: ({ message }: { message: string }) => {
      const [, name = "", line = ""] = /^(worker-\d+) (.*)$/s.exec(message) ?? [];
      logs.get(name)?.(line);
    },
    workers: Array.from({ length: count }, (_, at) => workerOf(program, `worker-${at}`)),
  });
  await miniflare.ready;
  return { miniflare, logs, dispose: () => miniflare.dispose() };
}

async function startInShared(program: Program): Promise<Running> {
  if (!shared) throw new Error("call shareWorkerd at the top of the file");
  const { workers } = shared;
  const nth = shared.used++;
  const at = Math.floor(nth / workers);
  const started = shared.all[at] ?? startSharedWorkerd(program, workers);
  shared.all[at] = started;
  const { miniflare, logs } = await started;
  const name = `worker-${nth % workers}`;
  logs.set(name, program.onLog);
  const url = await miniflare.unsafeGetDirectURL(name);
  await takeSmallParts(miniflare, bucketOf(name));
  const env = { ...program.texts, STORE: program.settings };
  await fetch(new URL("/tests/choose", url), { method: "POST", body: JSON.stringify({ mark: name, env }) });
  return {
    url,
    keys: () => keysIn(miniflare, name),
    stop: async () => void logs.delete(name),
  };
}

function workerOf({ code, texts, settings, classes }: Program, name: string): object {
  return {
    name,
    modules: [{ type: "ESModule", path: "worker.js", contents: code }],
    compatibilityDate: "2026-10-01",
    compatibilityFlags: ["enable_request_signal"],
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    bindings: { ...texts, STORE: settings },
    r2Buckets: { MEDIA: bucketOf(name) },
    durableObjects: Object.fromEntries(
      Object.entries(classes).map(([binding, className]) => [binding, { className, useSQLite: true }]),
    ),
  };
}

const bucketOf = (worker: string) => `media-of-${worker}`;

async function keysIn(miniflare: Miniflare, worker: string): Promise<readonly string[]> {
  const { objects } = await (await miniflare.getR2Bucket("MEDIA", worker)).list();
  return objects.map(({ key }) => key);
}

async function startOnNode({ code, texts, settings, classes, onLog }: Program): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-media-"));
  const { bucket, opening, close } = await openBucket(join(folder, "files"));
  await writeNodeProgram(folder, code, {
    host: host === "postgres" ? host : "node",
    texts,
    values: { STORE: settings },
    classes,
    media: opening,
  });
  let { running, port } = await run(0, 0);
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    keys: async () => (await bucket.list()).objects.map(({ key }) => key),
    async restart(aheadMs) {
      await kill();
      ({ running, port } = await run(port, aheadMs));
    },
    async stop() {
      await kill();
      await close();
      await rm(folder, { recursive: true });
    },
  };

  async function run(port: number, aheadMs: number) {
    const running = spawn(process.execPath, ["server.js", String(port)], {
      cwd: folder,
      env: { ...process.env, AHEAD_MS: String(aheadMs) },
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    for (const output of [running.stdout, running.stderr])
      createInterface(output as Readable).on("line", onLog);
    const [said] = (await once(createInterface(running.stdio[3] as Readable), "line")) as [string];
    return { running, port: Number((JSON.parse(said) as { port: string }).port) };
  }

  async function kill(): Promise<void> {
    const ended = once(running, "exit");
    running.kill("SIGKILL");
    await ended;
  }
}

/** Another Worker with files. */
interface Worker {
  /** The Worker, of this folder's fixtures. */
  readonly fixture?: string;
  /** Bindings beside those of the store. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** Bindings to Durable Objects beside the index, with the names of their classes. */
  readonly objects?: Readonly<Record<string, string>>;
}

export interface Asked extends Omit<RequestInit, "headers"> {
  readonly user?: string;
  readonly headers?: Record<string, string>;
}

export interface Sent extends Asked {
  readonly path?: string;
}

/** A file that begins as one of its type does; its other bytes count up, so that a part that is lost shows. */
export function fileOf(start: string | readonly number[], bytes: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 1) file[at] = at * 31 + (at >> 8);
  file.set(typeof start === "string" ? new TextEncoder().encode(start) : start);
  return file;
}

type Proxy = Pick<Awaited<ReturnType<typeof startMediaProxy>>, "ask" | "upload">;

/**
 * Holds the last byte of a part back.
 *
 * @param path The upload, as `/v1/uploads/…`.
 * @param part The whole part.
 * @param from Offset of the part.
 */
export function holdPart(proxy: Proxy, path: string, part: Uint8Array<ArrayBuffer>, from: number) {
  const method = "PATCH";
  const headers = { "content-type": "application/octet-stream", "upload-offset": String(from) };
  function send() {
    const cut = new AbortController();
    let finish = () => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(part.slice(0, -1));
        finish = () => {
          controller.enqueue(part.slice(-1));
          controller.close();
        };
      },
    });
    const length = { "content-length": String(part.length) };
    const asked = { method, body, duplex: "half", signal: cut.signal, headers: { ...headers, ...length } };
    const answer = proxy.ask(path, asked as object);
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    answer.then(end, end);
    return { answer, isOver: () => isOver, finish: () => finish(), cut: () => cut.abort() };
  }
  /** Asks with too few bytes: where a request has the claim, it is refused before they are read. */
  async function probe() {
    const response = await proxy.upload(part.slice(0, 1000), { path, method, headers });
    const { error } = (await response.json()) as { error: { code: string } };
    return [response.status, error.code, response.headers.get("retry-after")];
  }
  return {
    probe,
    /** Sends all but the last byte, and resolves when the request has the claim. */
    async held() {
      let sent = send();
      await expect
        .poll(async () => {
          // a probe that came first had the claim
          if (sent.isOver()) sent = send();
          return await probe();
        })
        .toEqual([409, "upload_in_flight", "5"]);
      return sent;
    },
  };
}

/** The first bytes of files. */
export const starts = {
  png: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  mp4: [0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x69, 0x73, 0x6f, 0x6d],
};

/** Returns the status of an answer. Its body is not read, and would keep the connection open. */
export async function statusOf(url: string | URL, init?: RequestInit): Promise<number> {
  const { status, body } = await fetch(url, init);
  await body?.cancel();
  return status;
}

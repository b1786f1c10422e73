import {
  chat,
  createProxy,
  health,
  images,
  type JobEvent,
  type ProxyEvent,
  type ProxyOptions,
  type ProxyPlugin,
  videos,
} from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { expect, onTestFinished, vi } from "vitest";
import type { Bucket } from "../../src/buckets/bucket.js";
import { fileStore } from "../../src/file-store/file-store.js";
import type { FileStoreOptions } from "../../src/file-store/files/options.js";
import { nodeHost } from "../../src/host/node.js";
import { createMemoryBucket } from "./memory-bucket.js";

export const SECRET = "a secret of at least 32 characters, for tests";
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;
/** Size of a part. */
export const PART_BYTES = 8_388_608;

export const firstBytes = {
  png: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  mp4: [0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x69, 0x73, 0x6f, 0x6d],
};

/** Creates a file that begins with the bytes of a type. All its parts differ. */
export function createFile(start: readonly number[] | string, bytes: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 1) file[at] = (at * 7 + (at >> 13)) & 0x7f;
  file.set(typeof start === "string" ? new TextEncoder().encode(start) : start);
  return file;
}

export const png = createFile(firstBytes.png, 1000);

/** State of an upload, as the client sees it. */
export interface Upload {
  readonly id: string;
  readonly bytes: number;
  readonly offset: number;
  readonly url: string;
  readonly type?: string;
  readonly expiresAt: number;
  readonly storedUntil: number;
  readonly taskId?: string;
}

interface RequestFields extends Omit<RequestInit, "body"> {
  readonly user?: string;
  readonly body?: BodyInit | undefined;
}

interface StoreSetup {
  readonly options?: Partial<FileStoreOptions<unknown>>;
  readonly proxy?: Partial<ProxyOptions<unknown>>;
  readonly bucket?: Bucket;
  readonly file?: string;
  /** @default a host with the rows of `file` */
  readonly host?: ReturnType<typeof nodeHost>;
  /** Plugins that come before the store. */
  readonly before?: readonly ProxyPlugin<unknown>[];
}

/** Replaces the clock of the process. Due timers run only when a test lets time pass. */
export function useClock() {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  return {
    /** Lets time pass, and runs each timer at its time. */
    run: (ms: number) => vi.advanceTimersByTimeAsync(ms),
    /** Sets the clock forward in one step, and then runs the jobs that are due. */
    async pass(ms: number): Promise<void> {
      vi.setSystemTime(Date.now() + ms);
      // the host looks for due jobs at an interval, which these steps cover
      for (let step = 0; step < 4; step += 1) {
        await vi.advanceTimersByTimeAsync(600);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

/** Opens a proxy with a file store on a host in memory. Its gateway accepts everything. `authorization` is the user's id. */
export function openFileStore({
  options,
  proxy: proxyOptions,
  bucket: ownBucket,
  file = ":memory:",
  host = nodeHost({ file, env: {} }),
  before = [],
}: StoreSetup = {}) {
  const memory = createMemoryBucket();
  const sent: Request[] = [];
  const events: ProxyEvent[] = [];
  const logs: string[] = [];
  const log = vi.spyOn(console, "error").mockImplementation((line) => void logs.push(String(line)));
  const plugin = fileStore({
    bucket: () => ownBucket ?? memory.bucket,
    secret: () => SECRET,
    ...options,
  });
  const background: Promise<unknown>[] = [];
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg",
    secret: () => SECRET,
    authenticate: ({ headers }) => {
      const id = headers.get("authorization");
      return id ? { id } : null;
    },
    origins: ["https://app.example"],
    models: ["delta-5.3", "alpha-v4.1-flash", "beta3.0-video", "gamma-image-5-0-260128"],
    routes: [chat, images, videos],
    basePath: "/api",
    fetch: async (request) => {
      sent.push(request);
      return Response.json({ id: "t-1", status: "queued" });
    },
    host,
    plugins: [
      ...before,
      plugin,
      health(),
      definePlugin({ onEvent: (event: ProxyEvent) => void events.push(event) }),
    ],
    ...proxyOptions,
  });
  let closing: Promise<void> | undefined;
  // a fake clock would let the default wait pass before a busy machine has run the jobs
  const close = () => (closing ??= host.close(DAY_MS));
  onTestFinished(async () => {
    let isClosed = false;
    void close().then(() => {
      isClosed = true;
    });
    // closing waits for running jobs, which wait for timers
    while (!isClosed && vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(1000);
    await close();
    log.mockRestore();
  });

  /** Sends a request of a user. `user: ""` sends it without a user. @default `user-1` */
  const request = (path: string, { user = "user-1", headers, ...init }: RequestFields = {}) => {
    const url = new URL(path.startsWith("http") ? path : `/api${path}`, "https://app.example");
    const all = { ...(user && { authorization: user }), ...(headers as Record<string, string>) };
    const context = { waitUntil: (promise: Promise<unknown>) => void background.push(promise) };
    return proxy.fetch(new Request(url, { ...init, headers: all } as RequestInit), {}, context);
  };

  /** Sends bytes as a file, or as a part. */
  const upload = (
    body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
    { path = "/v1/uploads", method = "POST", ...fields }: RequestFields & { readonly path?: string } = {},
  ) => {
    const length = body instanceof Uint8Array && { "content-length": String(body.length) };
    const headers = { "content-type": "application/octet-stream", ...length, ...fields.headers };
    const duplex = { duplex: "half" };
    return request(path, { method, ...fields, ...duplex, headers, body: body as BodyInit });
  };

  /** Uploads a file, and expects success. */
  const store = async (
    body: Uint8Array<ArrayBuffer> = png,
    fields?: Parameters<typeof upload>[1],
  ): Promise<Upload> => {
    const response = await upload(body, fields);
    const text = await response.text();
    expect([response.status, text]).toEqual([expect.toSatisfy((status) => status < 300), expect.any(String)]);
    return JSON.parse(text) as Upload;
  };

  return {
    ...memory,
    proxy,
    host,
    plugin,
    sent,
    logs,
    request,
    upload,
    close,
    /** Waits for work background responses. */
    settle: async () => void (await Promise.all(background.splice(0))),
    /** The events of uploads and copies. */
    jobEvents: () => events.filter((event): event is JobEvent => event.type !== "request"),
    store,
    /** Stores the first part of a longer file. */
    begin: (whole: Uint8Array<ArrayBuffer>, user = "user-1") =>
      store(whole.slice(0, PART_BYTES), { user, headers: { "upload-length": String(whole.length) } }),
    /** Sends the part at an offset. */
    sendPart: (id: string, whole: Uint8Array<ArrayBuffer>, offset: number, user = "user-1") =>
      upload(whole.slice(offset, offset + PART_BYTES), {
        user,
        path: `/v1/uploads/${id}`,
        method: "PATCH",
        headers: { "upload-offset": String(offset) },
      }),
    /** Sends JSON. */
    post: (path: string, body: unknown, user = "user-1") =>
      request(path, {
        user,
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": String(JSON.stringify(body).length),
        },
        body: JSON.stringify(body),
      }),
    /** Reads a page of the files of a user. */
    list: async (user = "user-1", cursor = "") =>
      (await (await request(`/v1/uploads${cursor && `?cursor=${cursor}`}`, { user })).json()) as {
        readonly files: readonly Upload[];
        readonly next?: string;
      },
    erase: (user = "user-1") => plugin.userData?.eraseUser({}, user),
    async export(user = "user-1") {
      const items: object[] = [];
      for (let cursor: string | undefined = ""; cursor !== undefined; ) {
        const page = await plugin.userData?.exportUser({}, user, cursor || undefined);
        const { items: more, cursor: next } = page as { items: object[]; cursor: string | undefined };
        items.push(...more);
        cursor = next;
      }
      const isFile = (item: object) => "state" in item && /open|whole/.test(String(item.state));
      return { files: items.filter(isFile), copies: items.filter((item) => !isFile(item)) };
    },
    operate: (name: string, body: Readonly<Record<string, unknown>>) =>
      plugin.operations?.find((operation) => operation.name === name)?.run({}, body),
  };
}

/** Reads the code of an error. */
export async function readCode(response: Response | Promise<Response>): Promise<readonly [number, string]> {
  const refused = await response;
  return [refused.status, ((await refused.json()) as { error: { code: string } }).error.code];
}

export const readBytes = async (response: Response) => new Uint8Array(await response.arrayBuffer());

/** Creates a body that sends its last byte when `finish` is called. */
export function holdBody(file: Uint8Array<ArrayBuffer>) {
  let finish = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(file.slice(0, -1));
      finish = () => {
        controller.enqueue(file.slice(-1));
        controller.close();
      };
    },
  });
  return { body, headers: { "content-length": String(file.length) }, finish: () => finish() };
}

import { databaseBucket, openObjects } from "@sluice/durable/indexed-db";
import { createEmulator } from "@sluice/emulator";
import sqlite3InitModule from "@sqlite.org/sqlite-wasm";
import { Conversations, createStudioWorker, devicesProxy, nameIn } from "../../studio-worker.ts";
import { landscapes } from "../media/media.ts";
import { createDemoScript } from "../script.ts";
import { asAServerSees } from "./as-a-server-sees.ts";
import { type KeptState, openKeptState } from "./kept-state.ts";
import { addRequestBodies } from "./request-body.ts";

/*
 * The studio's Worker and the gateway's emulator, in a Service Worker. Both keep what they have in IndexedDB: the browser
 * ends a Service Worker when it likes, and starts it anew.
 */

/** What stands around the gateway. */
interface Place {
  /** Address of the page, with a slash at its end. */
  readonly base: string;
  /** Loads a file of the page, from the cache where it is there. */
  readonly fileAt: (path: string) => Promise<Response>;
}

/** Answers the page's requests to the gateway, and those for its files. */
export type Gateway = (request: Request) => Promise<Response>;

declare global {
  /** Set by this file: the Service Worker loads it when the first request needs it. */
  var openGateway: ((place: Place) => Promise<Gateway>) | undefined;
}

/** The package's types leave out the option of its loader that takes the bytes. */
const openSQLite = sqlite3InitModule as (options: {
  readonly wasmBinary: ArrayBuffer;
}) => ReturnType<typeof sqlite3InitModule>;

/** Set by the build: path of SQLite's WebAssembly. */
declare const SQLITE: string;

/** Address of the gateway, which is nowhere but here. */
const GATEWAY = "https://gateway.test";

globalThis.openGateway = async ({ base, fileAt }) => {
  addRequestBodies();
  const root = base.slice(0, -1);
  const files = `${base}emulator`;
  const [state, wasmBinary] = await Promise.all([
    openKeptState(`${base} emulator`),
    fileAt(SQLITE).then((file) => file.arrayBuffer()),
  ]);
  const key = await secretIn(state, "key");
  const filesSecret = await secretIn(state, "files");
  const emulator = createEmulator({
    state,
    apiKeys: [key],
    origin: files,
    // nobody watches a demo for two minutes
    durations: { imageMs: 3000, videoMs: 12_000 },
    chat: createDemoScript(),
    media: landscapes,
    // addresses elsewhere are accepted as they are: nothing leaves this browser
    fetchMedia: (url) => (url.startsWith(base) ? fetch(url) : undefined),
  });
  const worker = createStudioWorker({ publicURL: root, filesHost: new URL(base).host });
  const { StreamLog, MediaIndex, VideoWatch } = worker;
  stayInside(async (request) => {
    if (request.url.startsWith(`${files}/`)) return emulate(await asAServerSees(request, files, GATEWAY));
    if (request.url.startsWith(`${GATEWAY}/`)) return emulate(request);
    return request.url.startsWith(base) ? answer(request) : undefined;
  });
  const { env } = await openObjects({
    database: `${base} objects`,
    sqlite: await openSQLite({ wasmBinary }),
    objects: {
      STREAM_LOG: StreamLog,
      MEDIA_INDEX: MediaIndex,
      VIDEO_WATCH: VideoWatch,
      CONVERSATIONS: Conversations,
    },
    env: {
      GATEWAY_URL: GATEWAY,
      GATEWAY_API_KEY: key,
      ORIGINS: new URL(base).origin,
      MEDIA: databaseBucket(`${base} files`),
      FILES_SECRET: filesSecret,
      // a video of the emulator takes seconds: with the usual 15 s it would be seen late
      VIDEO_INTERVAL_MS: "2000",
    },
  });
  return (request) => fetch(request);

  async function answer(request: Request): Promise<Response> {
    const seen = await asAServerSees(request, root, new URL(base).origin);
    return (nameIn(seen) === undefined ? worker : devicesProxy).fetch(seen, env);
  }

  async function emulate(request: Request): Promise<Response> {
    const response = await emulator.fetch(request);
    // nobody hears of what is not kept
    await state.kept();
    return response;
  }
};

/** Returns a secret that the first Service Worker of this browser has made up, and that never leaves it. */
async function secretIn(state: KeptState, name: string): Promise<string> {
  const known = state.get(`secrets/${name}`);
  if (typeof known === "string") return known;
  const secret = `sk-studio-${crypto.randomUUID()}${crypto.randomUUID()}`;
  state.set(`secrets/${name}`, secret);
  await state.kept();
  return secret;
}

/** Leads each `fetch` of this worker to `answer`: no request leaves the browser. */
function stayInside(answer: (request: Request) => Promise<Response | undefined>): void {
  const { fetch: send } = globalThis;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.url.startsWith("data:")) return send(request);
    const response = await answer(request);
    if (!response) throw new TypeError("the studio's Service Worker sends no request to another host");
    return response;
  };
}

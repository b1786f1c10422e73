import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createEmulator } from "@sluice/emulator";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { examplesOfComments, examplesOfMarkdown, moduleOf, namesOf } from "./support/examples.ts";

/*
 * The code of the README's first screen, run as it stands there. The addresses in it lead where they would in
 * production: app.example.com/api to the Worker, gateway.example.com to the gateway.
 */

const root = `${import.meta.dirname}/../`;
const folder = `${root}tests/.tmp/readme`;
const readme = readFileSync(`${root}README.md`, "utf8");
const emulator = createEmulator({ apiKeys: ["sk-readme"], speed: Number.POSITIVE_INFINITY });
let gateway: (request: Request) => Promise<Response> = emulator.fetch;

function block(name: string): string {
  const found = new RegExp(`\`\`\`tsx? ${name}\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1];
  if (!found) throw new Error(`README.md has no block called ${name}`);
  return found;
}

function write(name: string, content: string): string {
  writeFileSync(`${folder}/${name}`, content);
  return `${folder}/${name}`;
}

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  write("sign-in.ts", `export const userOf = (_: Request) => ({ id: "ada" });\n`);
  vi.stubGlobal("fetch", async (request: Request) => {
    const { host } = new URL(request.url);
    if (host === "gateway.example.com") return gateway(request);
    if (host !== "app.example.com") throw new TypeError(`nobody is at ${host}`);
    const worker = await import(/* @vite-ignore */ write("worker.ts", block("worker")));
    return worker.default.fetch(request, { GATEWAY_API_KEY: "sk-readme" });
  });
});
afterEach(cleanup);
afterAll(() => {
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true, force: true });
});

test("the hook shows an answer, through the Worker, from the gateway", async () => {
  const { App } = (await import(/* @vite-ignore */ write("hook.tsx", block("hook")))) as {
    App: FunctionComponent;
  };
  render(<App />);
  // an empty field sends nothing
  submit("");
  submit("Hello");
  expect(field().value).toBe("");
  await waitFor(
    () => expect(screen.getByText("assistant").parentElement?.textContent?.length).toBeGreaterThan(20),
    {
      timeout: 5000,
    },
  );
  expect(emulator.requests).toMatchObject([
    { path: "/v1/chat/completions", body: { model: "delta-5.3", messages: [{ content: "Hello" }] } },
  ]);
});

test("a failed turn shows its error, and no empty answer", async () => {
  const { App } = (await import(/* @vite-ignore */ write("hook.tsx", block("hook")))) as {
    App: FunctionComponent;
  };
  render(<App />);
  gateway = async () => Response.json({ error: { message: "no more than this" } }, { status: 400 });
  submit("Hello");
  await waitFor(() => expect(screen.getByRole("alert").textContent).toContain("no more than this"));
  gateway = emulator.fetch;
  expect(screen.getByText("user")).toBeTruthy();
  expect(screen.queryByText("assistant")).toBeNull();
});

const field = () => screen.getByRole<HTMLInputElement>("textbox", { name: "Message" });

/** Enter in the field: the browser submits its form, if that is valid. */
function submit(text: string): void {
  fireEvent.change(field(), { target: { value: text } });
  act(() => field().form?.requestSubmit());
}

test("the script prints an answer and its outcome", async () => {
  vi.stubEnv("GATEWAY_API_KEY", "sk-readme");
  // this file's environment is a page, for the hook; a script's is not
  vi.stubGlobal("navigator", { userAgent: "Node.js/24" });
  const printed: string[] = [];
  const stdout = vi
    .spyOn(process.stdout, "write")
    .mockImplementation((text) => printed.push(String(text)) > 0);
  const log = vi.spyOn(console, "log").mockImplementation((text) => void printed.push(String(text)));
  await import(/* @vite-ignore */ write("script.ts", block("script")));
  stdout.mockRestore();
  log.mockRestore();
  expect(printed.join("").length).toBeGreaterThan(40);
  expect(printed.at(-1)).toMatch(/^\ncomplete after \d+ ms$/);
});

test("the Next app of the React README is the one that is built and tested", () => {
  const blocks = readFileSync(`${root}packages/react/README.md`, "utf8").matchAll(
    /```tsx? (app\/\S+)\n(.*?)```/gs,
  );
  const shown = [...blocks].map(([, file, code]) => [file, code]);
  expect(shown).toHaveLength(3);
  for (const [file, code] of shown)
    expect(readFileSync(`${root}tests/next/${file}`, "utf8"), file).toBe(code);
});

/** Everything that the examples leave to their reader's imagination. */
const imagined = `
import type { Asset, AssetHandle, ChatDelta, ChatMessage, Client, ImageStore, RecordStorage, VideoTaskHandle, VideoTaskStore } from "@sluice/core";
import type { EncodeProgress } from "@sluice/core/media";
import type { Emulator } from "@sluice/emulator";
import type { Meter, ProxyContext, ProxyOptions, RateLimitBinding, User } from "@sluice/worker-proxy";
import type { ObjectNamespace } from "@sluice/worker-proxy/durable";
import type { FunctionComponent, ReactNode } from "react";
declare global {
  interface Env {
    GATEWAY_API_KEY: string; PROXY_SECRET: string; RATE_LIMITER: RateLimitBinding; POLL_LIMITER: RateLimitBinding;
    TURNSTILE_SECRET_KEY: string; SESSION_SECRET: string;
    AI_GATEWAY_TOKEN: string; SETTINGS: { get<T>(name: string, options: object): Promise<T | null> };
    VIDEO_WATCH: ObjectNamespace; BUDGET: ObjectNamespace; STREAM_LOG: ObjectNamespace;
  }
  type ExecutionContext = ProxyContext;
  const options: ProxyOptions<Env>;
  const meter: Meter<Env>;
  const gateway: { baseURL: string; apiKey: (env: Env) => string };
  const userOfSession: (request: Request, env: Env) => Promise<User | null>;
  const isOperator: (request: Request, env: Env) => Promise<boolean>;

  const client: Client;
  const emulator: Emulator;
  const storage: RecordStorage;
  const handle: VideoTaskHandle & AssetHandle;
  const request: never;
  const images: ImageStore;
  const video: VideoTaskStore;
  const deltas: readonly ChatDelta[];
  const saved: readonly ChatMessage[];
  const uploads: Map<string, Blob>;
  const file: File, clip: File, song: File;
  const signal: AbortSignal;
  const input: { readonly files: FileList };
  const user: { readonly name: string };

  const lookUp: (city: string, signal: AbortSignal) => Promise<object>;
  const onProgress: (progress: EncodeProgress) => void;
  const show: (...shown: unknown[]) => void;
  const render: (...shown: unknown[]) => void;
  const wait: (ms: number | undefined) => void;
  const unwrapOurs: (raw: unknown) => unknown;
  const useQuery: (options: object) => { data: unknown };
  const App: FunctionComponent;
  const root: { render(node: ReactNode): void };

  const Deno: { serve(handler: (request: Request) => Promise<Response>): void };
  const Bun: { serve(options: { fetch: (request: Request) => Promise<Response> }): void };
  interface Event { readonly request: Request; respondWith(response: Promise<Response>): void }
}
`;

/** The entry points whose names an example may use without importing them. */
const entries = {
  "@sluice/core": "core/src/index.ts",
  "@sluice/core/schemas": "core/src/schemas.ts",
  "@sluice/core/media": "core/src/media.ts",
  "@sluice/core/partial-json": "core/src/partial-json.ts",
  "@sluice/core/sse": "core/src/sse.ts",
  "@sluice/react": "react/src/index.ts",
  "@sluice/react/app": "react/src/app/index.ts",
  "@sluice/worker-proxy": "worker-proxy/src/index.ts",
  "@sluice/worker-proxy/auth": "worker-proxy/src/auth/index.ts",
  "@sluice/worker-proxy/durable": "worker-proxy/src/durable/index.ts",
  "@sluice/emulator": "emulator/src/index.ts",
  "@sluice/emulator/serve": "emulator/src/serve.ts",
};

test("the examples of all READMEs and doc comments compile", {
  timeout: 60_000,
}, () => {
  const packages = ["core", "react", "worker-proxy", "emulator"];
  const readmes = ["README.md", ...packages.map((name) => `packages/${name}/README.md`)];
  const templates = ["deno", "node", "worker", "studio"].map((name) => `examples/${name}/README.md`);
  const examples = [
    ...[...readmes, ...templates.filter((file) => existsSync(root + file))].flatMap((file) =>
      examplesOfMarkdown(root, file),
    ),
    ...packages.flatMap((name) => examplesOfComments(root, `packages/${name}/src`)),
  ];
  expect(examples.length).toBeGreaterThan(80);
  const exported = {
    ...Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [
        name,
        namesOf(readFileSync(`${root}packages/${file}`, "utf8")),
      ]),
    ),
    react: ["memo", "useState"],
  };
  for (const [at, example] of examples.entries())
    write(`example-${at}.${example.language}`, moduleOf(example, exported));
  write("imagined.ts", imagined);
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
    module: "esnext",
    moduleResolution: "bundler",
    jsx: "react-jsx",
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["."] }));
  const { stdout } = spawnSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { encoding: "utf8" });
  expect(stdout.replace(/^.*example-(\d+)/gm, (_, at) => examples[Number(at)]?.place ?? "")).toBe("");
});

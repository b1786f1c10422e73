import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createEmulator } from "@sluice/emulator";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";

/*
 * The code of the README's first screen, run as it stands there. The addresses in it lead where they would in
 * production: app.example.com/api to the Worker, gateway.example.com to the gateway.
 */

const root = `${import.meta.dirname}/../`;
const folder = `${root}tests/.tmp/readme`;
const readme = readFileSync(`${root}README.md`, "utf8");
const emulator = createEmulator({ apiKeys: ["sk-readme"], speed: Number.POSITIVE_INFINITY });

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
    if (host === "gateway.example.com") return emulator.fetch(request);
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
  const field = screen.getByRole("textbox", { name: "Message" });
  fireEvent.change(field, { target: { value: "Hello" } });
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(
    () => expect(screen.getByText("assistant").parentElement?.textContent?.length).toBeGreaterThan(20),
    {
      timeout: 5000,
    },
  );
  expect(emulator.requests.at(-1)).toMatchObject({
    path: "/v1/chat/completions",
    body: { model: "delta-5.3" },
  });
});

test("the script prints an answer and how it ended", async () => {
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

/** What the pieces of the proxy's README leave to their reader to imagine. */
const imagined = `
import type { ProxyContext, ProxyOptions, RateLimitBinding } from "@sluice/worker-proxy";
import type { ObjectNamespace } from "@sluice/worker-proxy/durable";
declare global {
  interface Env {
    GATEWAY_API_KEY: string; PROXY_SECRET: string; RATE_LIMITER: RateLimitBinding;
    TURNSTILE_SECRET_KEY: string; SESSION_SECRET: string;
    VIDEO_WATCH: ObjectNamespace; BUDGET: ObjectNamespace; STREAM_LOG: ObjectNamespace;
  }
  type ExecutionContext = ProxyContext;
  const options: ProxyOptions<Env>;
  const gateway: { baseURL: string; apiKey: (env: Env) => string };
}
`;

test("all of them, and those of the proxy's README, have the types that they should", () => {
  for (const name of ["hook", "worker", "script"])
    write(`${name}.${name === "hook" ? "tsx" : "ts"}`, block(name));
  const ofProxy = readFileSync(`${root}packages/worker-proxy/README.md`, "utf8").matchAll(
    /```ts\n(.*?)```/gs,
  );
  for (const [at, [, code = ""]] of [...ofProxy].entries()) write(`proxy-${at}.ts`, code);
  write("imagined.ts", imagined);
  const config = {
    extends: "../../../tsconfig.base.json",
    compilerOptions: {
      noEmit: true,
      jsx: "react-jsx",
      module: "esnext",
      moduleResolution: "bundler",
      types: ["node"],
    },
    include: ["."],
  };
  write("tsconfig.json", JSON.stringify(config));
  try {
    execFileSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { encoding: "utf8" });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout);
  }
});

import { readFileSync, writeFileSync } from "node:fs";
import { createEmulator } from "@sluice/emulator";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

/*
 * Runs the code of the README's first screen unchanged. Its addresses lead where they lead in production:
 * app.example.com/api to the Worker, gateway.example.com to the gateway.
 */

const root = `${import.meta.dirname}/../../`;
const folder = createTemporaryFolder("readme");
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
  write("sign-in.ts", `export const findUser = (_: Request) => ({ id: "ada" });\n`);
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const request = new Request(input, init);
    const { host } = new URL(request.url);
    if (host === "gateway.example.com") return gateway(request);
    if (host !== "app.example.com") throw new TypeError(`nobody is at ${host}`);
    const worker = await import(/* @vite-ignore */ write("worker.ts", block("worker")));
    return worker.default.fetch(request, { GATEWAY_API_KEY: "sk-readme" });
  });
});
afterEach(cleanup);
afterAll(() => vi.unstubAllGlobals());

test("the hook shows a response, through the Worker, from the gateway", async () => {
  const { App } = (await import(/* @vite-ignore */ write("hook.tsx", block("hook")))) as {
    App: FunctionComponent;
  };
  render(<App />);
  // an empty field sends nothing
  submit("");
  submit("Hello");
  await waitFor(() => expect(field().value).toBe(""));
  await waitFor(() => expect(screen.getByText(/^assistant/).textContent?.length).toBeGreaterThan(20));
  expect(emulator.requests).toMatchObject([
    { path: "/v1/chat/completions", body: { model: "delta-5.3", messages: [{ content: "Hello" }] } },
  ]);
});

test("a failed turn shows its error, and no empty response", async () => {
  const { App } = (await import(/* @vite-ignore */ write("hook.tsx", block("hook")))) as {
    App: FunctionComponent;
  };
  render(<App />);
  gateway = async () => Response.json({ error: { message: "no more than this" } }, { status: 400 });
  submit("Hello");
  await waitFor(() => expect(screen.getByRole("alert").textContent).toBe("Request not accepted"));
  gateway = emulator.fetch;
  expect(screen.getByText(/^user/)).toBeTruthy();
  expect(screen.queryByText(/^assistant/)).toBeNull();
});

test("Enter during a response keeps the text", async () => {
  const { App } = (await import(/* @vite-ignore */ write("hook.tsx", block("hook")))) as {
    App: FunctionComponent;
  };
  render(<App />);
  submit("Tell me about rivers [[stall]]");
  await screen.findByRole("button", { name: "Stop" });
  submit("And then?");
  expect(field().value).toBe("And then?");
  fireEvent.click(screen.getByRole("button", { name: "Stop" }));
  await waitFor(() => expect(screen.queryByRole("button", { name: "Stop" })).toBeNull());
});

const field = () => screen.getByRole<HTMLInputElement>("textbox", { name: "Message" });

/** Enter in the field: the browser submits its form, if that is valid. */
function submit(text: string): void {
  fireEvent.change(field(), { target: { value: text } });
  act(() => field().form?.requestSubmit());
}

test("the script prints a response and its outcome", async () => {
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

test("the Next quick start has the files of the app that is built and tested", () => {
  const blocks = readFileSync(`${root}docs/start/next.md`, "utf8").matchAll(
    /```tsx? \[(app\/\S+)\]\n(.*?)```/gs,
  );
  const shown = [...blocks]
    .filter(([, file]) => file !== "app/page.tsx")
    .map(([, file, code]) => [file, code]);
  expect(shown).toHaveLength(3);
  for (const [file, code] of shown)
    expect(readFileSync(`${root}examples/next/${file}`, "utf8"), file).toBe(code);
});

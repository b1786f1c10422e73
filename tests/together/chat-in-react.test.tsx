import { createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { GatewayProvider, type UseChatStreamResult, useChatStream } from "@sluice/react";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";
import { createTestClock } from "../support/test-clock.ts";

/* The files of the pages about chats, used as a reader would: /api is the proxy of the page. */

const chatPage = writeFilesOfPage("docs/guides/chat-in-react.md");
const toolsPage = writeFilesOfPage("docs/guides/tools.md");
const savePage = writeFilesOfPage("docs/guides/save-and-resume-chats.md");
let nth = 0;
const emulator = createEmulator({
  speed: Number.POSITIVE_INFINITY,
  chat: ({ messages }) => {
    const text = JSON.stringify(messages.at(-1)?.content);
    nth += 1;
    // undefined leaves the answer to the emulator, which calls tools and plays faults
    return /tool|\[\[/.test(text) ? undefined : `answer ${nth} to ${text}`;
  },
});

beforeEach(() => {
  nth = 0;
  vi.stubGlobal("fetch", (input: Request | string, init?: RequestInit) => {
    const url = new URL(typeof input === "string" ? input : input.url, "https://app.example.com");
    const request = new Request(url, typeof input === "string" ? init : input);
    return emulator.fetch(new Request(request.url.replace("/api", ""), request));
  });
});
afterEach(cleanup);
afterAll(() => vi.unstubAllGlobals());

async function open(file: string, files = chatPage) {
  const { App } = await files<{ App: FunctionComponent }>(file);
  render(<App />);
}

function ask(text: string) {
  fireEvent.change(screen.getByRole("textbox", { name: "Message" }), { target: { value: text } });
  fireEvent.submit(screen.getByRole("textbox", { name: "Message" }).closest("form") as HTMLFormElement);
}

const press = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));

test("the first chat shows an answer, and after a failure the words and a way on", async () => {
  await open("first-chat.tsx");
  ask("How deep is the sea?");
  await screen.findByText(/answer 1/);
  ask("again [[truncate]]");
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("The response was cut off");
  const before = emulator.requests.length;
  press("Try again");
  await expect.poll(() => emulator.requests.length).toBe(before + 1);
});

test("the whole chat answers, edits, makes versions, and shows each of them", async () => {
  await open("app.tsx");
  ask("How deep is the sea?");
  await screen.findByText(/answer 1/);
  press("Another answer");
  await screen.findByText(/answer 2/);
  expect(screen.getByText(/2 of 2/)).toBeTruthy();
  press("Previous version");
  await screen.findByText(/answer 1/);

  press("Edit");
  const question = screen.getByRole("textbox", { name: "Question" });
  fireEvent.change(question, { target: { value: "How wide is it?" } });
  fireEvent.submit(question.closest("form") as HTMLFormElement);
  await screen.findByText(/answer 3 to "How wide is it\?"/);
});

test("a tool runs when the user has allowed it", async () => {
  localStorage.clear();
  await open("chat.tsx", toolsPage);
  press("Save a note");
  fireEvent.click(await screen.findByRole("button", { name: "Allow" }));
  await expect.poll(() => localStorage.getItem("note")).not.toBeNull();
});

test("the list of chats begins a new one, removes one, and brings it back", async () => {
  // a removed chat is deleted 10 seconds later
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  await open("app.tsx", savePage);
  press("New chat");
  await screen.findByRole("textbox", { name: "Message" });
  ask("How old is the moon?");
  const list = within(screen.getByRole("navigation", { name: "Chats" }));
  await list.findByRole("button", { name: "How old is the moon?" });
  press("Delete How old is the moon?");
  fireEvent.click(await list.findByRole("button", { name: "Undo" }));
  await list.findByRole("button", { name: "How old is the moon?" });
});

test("all versions of an answer are compared, and exported with their parents", async () => {
  const { Compare } = await chatPage<{ Compare: FunctionComponent<{ chat: UseChatStreamResult }> }>(
    "compare.tsx",
  );
  const { ExportButton } = await savePage<{
    ExportButton: FunctionComponent<{ chat: UseChatStreamResult; save: (json: string) => void }>;
  }>("export-button.tsx");
  const saved: { id: string; parentId?: string; message: { content: string } }[] = [];
  const client = createClient({ baseURL: "/api", clock: createTestClock() });
  function Chat() {
    const chat = useChatStream({ model: "delta-5.3" });
    return (
      <>
        <button type="button" onClick={() => void chat.send("Hello").then(() => chat.regenerate())}>
          Ask twice
        </button>
        <Compare chat={chat} />
        <ExportButton chat={chat} save={(json) => saved.push(...JSON.parse(json))} />
      </>
    );
  }
  render(
    <GatewayProvider client={client}>
      <Chat />
    </GatewayProvider>,
  );
  press("Ask twice");
  await screen.findByText(/answer 2/);
  const shown = screen.getAllByRole("region").map(({ textContent }) => textContent);
  expect(shown).toEqual([expect.stringContaining("answer 1"), expect.stringContaining("answer 2")]);
  press("Export all versions");
  expect(saved.map(({ parentId }) => parentId)).toEqual([undefined, saved[0]?.id, saved[0]?.id]);
});

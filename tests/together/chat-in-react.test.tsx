import { createClient, type RecordStorage } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import {
  type ChatMessage,
  GatewayProvider,
  indexedDBStorage,
  type UseChatStreamResult,
  useChatStream,
} from "@sluice/react";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { type FunctionComponent, type ReactNode, useState } from "react";
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";

/* The files of the pages about chats, used as a reader would: /api is the proxy of the page. */

const chatPage = writeFilesOfPage("docs/guides/chat-in-react.md");
const toolsPage = writeFilesOfPage("docs/guides/tools.md");
const savePage = writeFilesOfPage("docs/guides/save-and-resume-chats.md");
const startPage = writeFilesOfPage("docs/start/react-worker.md");
let nth = 0;
const emulator = createEmulator({
  speed: Number.POSITIVE_INFINITY,
  chat: ({ messages }) => {
    const text = JSON.stringify(messages.at(-1)?.content);
    nth += 1;
    // undefined leaves the response to the emulator, which calls tools and plays faults
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

function sendMessage(text: string) {
  fireEvent.change(screen.getByRole("textbox", { name: "Message" }), { target: { value: text } });
  fireEvent.submit(screen.getByRole("textbox", { name: "Message" }).closest("form") as HTMLFormElement);
}

const press = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));

test("the first chat shows a response, and after a failure the message and a button to continue", async () => {
  await open("first-chat.tsx");
  sendMessage("How deep is the sea?");
  await screen.findByText(/answer 1/);
  sendMessage("again [[truncate]]");
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("The response was cut off");
  const before = emulator.requests.length;
  press("Try again");
  await expect.poll(() => emulator.requests.length).toBe(before + 1);
});

test.each([
  ["first chat", async () => (await chatPage<{ App: FunctionComponent }>("first-chat.tsx")).App],
  [
    "chat of the first page",
    async () => (await startPage<{ default: FunctionComponent }>("src/App.tsx")).default,
  ],
])("Enter during a response keeps the text in the %s", async (_, load) => {
  const App = await load();
  render(<App />);
  sendMessage("Tell me about rivers [[stall]]");
  await screen.findByRole("button", { name: "Stop" });
  sendMessage("And then?");
  expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Message" }).value).toBe("And then?");
  press("Stop");
  await waitFor(() => expect(screen.queryByRole("button", { name: "Stop" })).toBeNull());
});

test("Enter during a response keeps the text and the images of the composer", async () => {
  const { Composer } = await chatPage<{ Composer: FunctionComponent<{ chat: UseChatStreamResult }> }>(
    "composer.tsx",
  );
  renderChat((chat) => (
    <>
      <Composer chat={chat} />
      <button type="button" onClick={chat.stop}>
        Stop {chat.status}
      </button>
    </>
  ));
  sendMessage("Tell me about rivers [[stall]]");
  await screen.findByRole("button", { name: "Stop streaming" });
  const field = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });
  fireEvent.change(field, { target: { value: "And then?" } });
  fireEvent.keyDown(field, { key: "Enter" });
  expect(field.value).toBe("And then?");
  press(/Stop/);
  await screen.findByRole("button", { name: "Stop ready" });
});

test("a response has versions, and each of them can be shown", async () => {
  const { Versions } = await chatPage<{
    Versions: FunctionComponent<{ message: ChatMessage; chat: UseChatStreamResult }>;
  }>("versions.tsx");
  renderChat((chat) => {
    const last = chat.messages.at(-1);
    return (
      <>
        <button type="button" onClick={() => void chat.send("How deep is the sea?")}>
          Ask
        </button>
        <p>{last?.content}</p>
        {last?.outcome && <Versions message={last} chat={chat} />}
      </>
    );
  });
  press("Ask");
  await screen.findByText(/answer 1/);
  press("Regenerate");
  await screen.findByText(/answer 2/);
  expect(screen.getByText(/2 of 2/)).toBeTruthy();
  press("Previous version");
  await screen.findByText(/answer 1/);
});

test("an image is sent with the message", async () => {
  const { Composer } = await chatPage<{ Composer: FunctionComponent<{ chat: UseChatStreamResult }> }>(
    "composer.tsx",
  );
  renderChat((chat) => <Composer chat={chat} />, "alpha-v4.1-flash");
  const png = Uint8Array.from(atob(PIXEL), (character) => character.charCodeAt(0));
  const files = [new File([png], "reef.png", { type: "image/png" })];
  fireEvent.change(screen.getByLabelText("Images"), { target: { files } });
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Send" });
  await screen.findByAltText("Remove reef.png");
  await expect.poll(() => button.disabled).toBe(false);
  const before = emulator.requests.length;
  sendMessage("What is it?");
  await expect.poll(() => emulator.requests.length).toBe(before + 1);
  expect(JSON.stringify(emulator.requests.at(-1)?.body)).toContain("image_url");
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
  const { ChatList } = await savePage<{
    ChatList: FunctionComponent<{ storage: RecordStorage; id: string; open: (id: string) => void }>;
  }>("chat-list.tsx");
  const storage = indexedDBStorage();
  function Chat({ id }: { id: string }) {
    const { send } = useChatStream({ id, storage, model: "delta-5.3" });
    return (
      <button type="button" onClick={() => void send("How old is the moon?")}>
        Ask
      </button>
    );
  }
  function App() {
    const [id, open] = useState("first");
    return (
      <GatewayProvider client={client}>
        <ChatList storage={storage} id={id} open={open} />
        <Chat key={id} id={id} />
      </GatewayProvider>
    );
  }
  const client = createClient({ baseURL: "/api" });
  render(<App />);
  press("New chat");
  press("Ask");
  const list = within(screen.getByRole("navigation", { name: "Chats" }));
  await list.findByRole("button", { name: "How old is the moon?" });
  press("Delete How old is the moon?");
  fireEvent.click(await list.findByRole("button", { name: "Undo" }));
  await list.findByRole("button", { name: "How old is the moon?" });
});

/** Renders a chat in a page with its client. */
function renderChat(
  show: (chat: UseChatStreamResult) => ReactNode,
  model: "delta-5.3" | "alpha-v4.1-flash" = "delta-5.3",
) {
  const Chat = () => show(useChatStream({ model }));
  render(
    <GatewayProvider client={createClient({ baseURL: "/api" })}>
      <Chat />
    </GatewayProvider>,
  );
}

/** An image of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

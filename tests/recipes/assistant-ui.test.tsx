import { defineTool } from "@sluice/core";
import { type ChatStorage, GatewayProvider, memoryStorage, type UseChatStreamOptions } from "@sluice/react";
import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { beforeEach, describe, expect, test } from "vitest";
import { writeFilesOfExample } from "../support/page-files.ts";
import { numbered, openGateway } from "./gateway.ts";

/* The files of the guide "assistant-ui", with its newest components. */

const files = writeFilesOfExample("assistant-ui");
// loading takes seconds, which would count for the first test
const { Chat } = await files<{ Chat: FunctionComponent<object> }>("chat.tsx");
let gateway: ReturnType<typeof openGateway>;
let nth = 0;

beforeEach(() => {
  nth += 1;
  gateway = openGateway({ chat: numbered() });
});

function open(options: Partial<UseChatStreamOptions> = {}) {
  return render(
    <GatewayProvider client={gateway.client}>
      <Chat model="delta-5.3" id={`chat ${nth}`} {...options} />
    </GatewayProvider>,
  );
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });

async function press(name: string, at = -1) {
  const found = await screen.findAllByRole<HTMLButtonElement>("button", { name });
  await act(async () => void fireEvent.click(found.at(at) as HTMLButtonElement));
}

async function write(text: string, label = "Message", send = "Send") {
  fireEvent.change(screen.getByRole("textbox", { name: label }), { target: { value: text } });
  await waitFor(() => expect(button(send).disabled).toBe(false));
  await press(send);
}

const field = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });

async function attach() {
  const file = new File([new Uint8Array([137, 80, 78, 71])], "reef.png", { type: "image/png" });
  await act(async () => void fireEvent.paste(field(), { clipboardData: { files: [file] } }));
}

const requests = () => gateway.emulator.requests;
const findReply = (pattern: RegExp) => screen.findByText(pattern);
/** Number of the shown version and of all versions, as the branch picker says. */
const picked = () => screen.queryAllByText(/^\d+ of \d+$/).map(({ textContent }) => textContent);

describe("a chat in assistant-ui", () => {
  test("shows a question and its response", async () => {
    open();
    await write("How deep is the sea?");
    await findReply(/answer 1 to .*sea/);
    screen.getByText("How deep is the sea?");
  });

  test("shows a response while it grows, and stop reaches the gateway", async () => {
    const { container } = open();
    await write("Tell me of rivers [[stall]]");
    await waitFor(() => expect(container.textContent?.length).toBeGreaterThan(60));
    await press("Stop");
    await waitFor(() => expect(requests()[0]?.aborted).toBe(true));
    await waitFor(() => expect(button("Try again").disabled).toBe(false));
    // the question is still there, and not in the field
    screen.getByText("Tell me of rivers [[stall]]");
    expect(field().value).toBe("");
  });

  test("a question that is stopped before it is sent stays where it is", async () => {
    open({ instructions: () => new Promise<string>(() => {}) });
    await write("How deep is the sea?");
    await screen.findByText("How deep is the sea?", { selector: "span" });
    await press("Stop");
    await waitFor(() => expect(button("Stop").disabled).toBe(true));
    screen.getByText("How deep is the sea?", { selector: "span" });
    expect(field().value).toBe("");
  });

  test("keeps both responses after a reload of one, and switches between them", async () => {
    open();
    await write("How deep is the sea?");
    await findReply(/answer 1/);
    await press("Try again");
    await findReply(/answer 2/);
    expect(picked()).toEqual(["2 of 2"]);
    await press("Previous");
    await findReply(/answer 1/);
    expect(screen.queryByText(/answer 2/)).toBeNull();
    await press("Next");
    await findReply(/answer 2/);
    expect(requests()).toHaveLength(2);
  });

  test("an edit makes a branch, and the old question and reply stay", async () => {
    open();
    await write("How deep is the sea?");
    await findReply(/answer 1/);
    await write("And the lake?");
    await findReply(/answer 2/);
    await press("Edit", 0);
    await write("How wide is the sea?", "Edited message", "Save");
    await findReply(/answer 3 to .*wide/);
    expect(requests()[2]?.body).toMatchObject({ messages: [{ content: "How wide is the sea?" }] });
    expect(screen.queryByText("And the lake?")).toBeNull();
    await press("Previous");
    await findReply(/answer 2/);
    screen.getByText("How deep is the sea?");
    await write("And the pond?");
    await findReply(/answer 4 to .*pond/);
    expect(requests()[3]?.body).toMatchObject({ messages: { length: 5 } });
  });

  test("shows a cut as an error of the response, whose text stays, and tries again", async () => {
    open();
    await write("Tell me of lakes [[truncate:1]]");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toBe("The response was cut off");
    const { textContent } = alert.parentElement as HTMLElement;
    expect(textContent?.length).toBeGreaterThan(40);
    await press("Try again");
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
    expect(picked()).toEqual(["2 of 2"]);
  });

  test("shows a refusal, which has no response, and sends the question again", async () => {
    open();
    await write("Tell me of wells [[500:1]]");
    expect((await screen.findByRole("alert")).textContent).toMatch(/./);
    expect(requests()).toHaveLength(1);
    await press("Try again");
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
    await waitFor(() => expect(requests()).toHaveLength(2));
    expect(screen.getAllByText("Tell me of wells [[500:1]]")).toHaveLength(1);
    expect(picked()).toEqual([]);
  });

  test("a response that is too long is incomplete, without an error", async () => {
    open();
    await write("Tell me of rain [[length]]");
    await waitFor(() => expect(requests()[0]?.finished).toBe(true));
    await screen.findByText("Try again");
    expect(screen.queryByRole("alert")).toBeNull();
  });

  test("shows the thinking before the response", async () => {
    gateway = openGateway({ chat: () => ({ reasoning: "The user asks for depth.", content: "Deep." }) });
    open({ model: "alpha-v4.1-flash" });
    await write("How deep is the sea?");
    await findReply(/^Deep\.$/);
    expect(screen.getByText("The user asks for depth.").tagName).toBe("SMALL");
  });
});

describe("tools in assistant-ui", () => {
  const depths: unknown[] = [];
  const tool = defineTool({
    name: "get_depth",
    description: "Measures a depth",
    inputSchema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
    needsApproval: true,
    execute: (input) => {
      depths.push(input);
      return { metres: 11_000 };
    },
  });
  beforeEach(() => depths.splice(0));
  const ask = async () => {
    open({ model: "alpha-v4.1-flash", tools: [tool] });
    await write('Use the tool for "Mariana"');
    await screen.findByText(/^get_depth/);
    await screen.findByText("Allow");
  };

  test("a tool waits for the user, runs once approved, and the chat continues", async () => {
    await ask();
    expect(depths).toEqual([]);
    await press("Allow");
    await waitFor(() => expect(requests()[1]?.finished).toBe(true));
    expect(depths).toEqual([{ place: "Mariana" }]);
    expect(JSON.stringify(requests()[1]?.body)).toContain("11000");
    expect(screen.queryByText("Allow")).toBeNull();
  });

  test("a tool that the user denies does not run, and the model learns of it", async () => {
    await ask();
    await press("Deny");
    await waitFor(() => expect(requests()[1]?.finished).toBe(true));
    expect(depths).toEqual([]);
    expect(JSON.stringify(requests()[1]?.body)).toContain("did not allow");
  });
});

describe("files and pages in assistant-ui", () => {
  test("an attached image goes to the gateway, and is beside its question", async () => {
    open({ model: "alpha-v4.1-flash" });
    await attach();
    await write("What is this?");
    await findReply(/answer 1/);
    expect(requests()[0]?.body).toMatchObject({
      messages: [
        {
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw==" } },
          ],
        },
      ],
    });
    await press("Edit", 0);
    await write("What lives here?", "Edited message", "Save");
    await findReply(/answer 2/);
    expect(JSON.stringify(requests()[1]?.body)).toContain("iVBORw==");
  });

  test("a question that cannot be sent comes back to its field, with its image", async () => {
    open({ model: "gamma-chat-1-6-251015" });
    await attach();
    await write("What is this?");
    await waitFor(() => expect(field().value).toBe("What is this?"));
    expect(screen.getByRole("alert").textContent).toBe("This model can't see images");
    expect(screen.queryByText("What is this?", { selector: "span" })).toBeNull();
    expect(requests()).toEqual([]);
  });

  test("a reloaded page has all branches, and continues below the visible branch", async () => {
    const storage: ChatStorage = memoryStorage();
    const before = open({ storage });
    await write("How deep is the sea?");
    await findReply(/answer 1/);
    await press("Try again");
    await findReply(/answer 2/);
    await press("Previous");
    await findReply(/answer 1/);
    before.unmount();
    // a new client has no chats in memory, like a reloaded page
    const { emulator } = gateway;
    gateway = { emulator, client: openGateway({}, emulator.clientOptions).client };
    open({ storage });
    await findReply(/answer 1/);
    expect(picked()).toEqual(["1 of 2"]);
    await press("Next");
    await findReply(/answer 2/);
    await write("And the lake?");
    await findReply(/answer 3/);
    expect(JSON.stringify(requests()[2]?.body)).toContain("answer 2");
    expect(within(document.body).queryByText(/answer 1/)).toBeNull();
  });
});

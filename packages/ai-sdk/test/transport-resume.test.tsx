// @vitest-environment happy-dom
import { cleanup } from "@testing-library/react";
import { tool } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { joinText, type Options, openPage, type Scenario, waitUntil } from "./support/page.js";
import {
  createScenario,
  createTextStorage,
  toCallFrame,
  toEndFrames,
  toTextFrame,
} from "./support/scenario.js";

afterEach(cleanup);

test("A message stops at the gateway when its component unmounts", async () => {
  const scenario = createScenario();
  scenario.writeByHand();
  const page = openPage(scenario, { storage: createTextStorage() });
  void page.getChat().sendMessage({ text: "Hello" });
  await waitUntil(() => expect(scenario.written).toHaveLength(1));
  scenario.written[0]?.write(toTextFrame("one "));
  await page.waitForText("one ");
  page.unmount();
  await waitUntil(() => expect(scenario.written[0]?.isDisconnected).toBe(true));
});

describe("a reload", () => {
  async function begin(scenario: Scenario, options: Options = {}) {
    scenario.writeByHand();
    const storage = createTextStorage();
    const page = openPage(scenario, { storage, ...options });
    void page.getChat().sendMessage({ text: "Hello" });
    await waitUntil(() => expect(scenario.written).toHaveLength(1));
    return { storage, page, response: scenario.written[0] as Scenario["written"][number] };
  }

  /** Reloads in the middle of a message, which continues in the second page. */
  async function resumeAfterReload(scenario: Scenario) {
    const { storage, page, response } = await begin(scenario);
    response.write(toTextFrame("one "));
    await page.waitForText("one ");
    const after = openPage(scenario, { storage, messages: page.disconnect(), resume: true });
    await after.waitForText("one ");
    return { storage, response, after };
  }

  test.each([false, true])(
    "A response continues after a reload, and is paid once (strict mode: %s)",
    async (strict) => {
      const scenario = createScenario();
      const { storage, page, response } = await begin(scenario);
      response.write(toTextFrame("one "));
      await page.waitForText("one ");
      const { id } = page.getLast() ?? {};
      const messages = page.disconnect();
      const after = openPage(scenario, { storage, messages, resume: true, strict });
      await after.waitForText("one ");
      response.write(toTextFrame("two") + toEndFrames());
      response.end();
      await after.waitForText("one two");
      await after.waitForStatus("ready");
      expect(after.getLast()?.id).toBe(id);
      expect(after.getChat().messages).toHaveLength(2);
      expect(scenario.chatRequests).toHaveLength(1);
      expect(scenario.stopped).toEqual([]);
      await waitUntil(() => expect([...storage.texts]).toEqual([]));
    },
  );

  test("A page reloaded before the first token gets its message", async () => {
    const scenario = createScenario();
    const { storage, page, response } = await begin(scenario);
    await waitUntil(() => expect(storage.texts.size).toBe(1));
    const messages = page.disconnect();
    response.write(toTextFrame("late") + toEndFrames());
    response.end();
    const after = openPage(scenario, { storage, messages, resume: true });
    await after.waitForText("late");
    await after.waitForStatus("ready");
    expect(scenario.chatRequests).toHaveLength(1);
  });

  describe("a reload before the response headers", () => {
    /** Sends a message, and reloads when the gateway has the request but the page has no response. */
    async function leaveEarly(scenario: Scenario) {
      const { storage, page, response } = await begin(scenario, { page: { losesResponses: true } });
      response.write(toTextFrame("one answer") + toEndFrames());
      response.end();
      const messages = page.disconnect();
      expect(messages.map(({ role }) => role)).toEqual(["user"]);
      const after = openPage(scenario, { storage, messages, resume: true });
      await after.waitForStatus("ready");
      return { after, storage };
    }

    test("regenerate() gets the message without another payment, and the next regenerate() gets another message", async () => {
      const scenario = createScenario();
      const { after, storage } = await leaveEarly(scenario);
      void after.getChat().regenerate();
      await after.waitForText("one answer");
      await after.waitForStatus("ready");
      expect(scenario.chatRequests).toHaveLength(1);
      await waitUntil(() => expect([...storage.texts]).toEqual([]));
      void after.getChat().regenerate();
      await waitUntil(() => expect(scenario.chatRequests).toHaveLength(2));
    });

    /** Replies to the second request, which the page shows. */
    const replyAgain = async (
      scenario: ReturnType<typeof createScenario>,
      after: ReturnType<typeof openPage>,
    ) => {
      await waitUntil(() => expect(scenario.written).toHaveLength(2));
      scenario.written[1]?.write(toTextFrame("another answer") + toEndFrames());
      scenario.written[1]?.end();
      await after.waitForText("another answer");
      expect(scenario.chatRequests).toHaveLength(2);
    };

    test("another prompt is another request", async () => {
      const scenario = createScenario();
      const { after } = await leaveEarly(scenario);
      void after.getChat().sendMessage({ text: "And now?" });
      await replyAgain(scenario, after);
    });

    test("a stopped message is not resumed", async () => {
      const scenario = createScenario();
      const { storage, page } = await begin(scenario, { page: { losesResponses: true } });
      await page.getChat().stop();
      await waitUntil(() => expect([...storage.texts]).toEqual([]));
      const after = openPage(scenario, { storage, messages: page.disconnect(), resume: true });
      void after.getChat().regenerate();
      await replyAgain(scenario, after);
    });
  });

  test("A second resumption takes over the message, and stops nothing", async () => {
    const scenario = createScenario();
    const { after, response } = await resumeAfterReload(scenario);
    void after.getChat().resumeStream();
    response.write(toTextFrame("two ") + toTextFrame("three") + toEndFrames());
    response.end();
    await after.waitForText("one two three");
    await after.waitForStatus("ready");
    expect(scenario.stopped).toEqual([]);
    expect(scenario.chatRequests).toHaveLength(1);
  });

  test("stop() stops a resumed message", async () => {
    const scenario = createScenario();
    const { after, storage, response } = await resumeAfterReload(scenario);
    await after.waitForStatus("streaming");
    await after.getChat().stop();
    await waitUntil(() => {
      expect(response.isDisconnected).toBe(true);
      expect([...storage.texts]).toEqual([]);
    });
    expect(joinText(after.getLast())).toBe("one ");
  });

  test("A tool of a resumed message runs once, and all steps survive another reload", async () => {
    let runs = 0;
    const scenario = createScenario();
    const tools = {
      get_depth: tool({ inputSchema: z.object({ river: z.string() }), execute: () => `${++runs} metres` }),
    };
    const { storage, page, response } = await begin(scenario, { tools });
    response.write(toTextFrame("Let me see. "));
    await page.waitForText("Let me see. ");
    const second = openPage(scenario, { storage, messages: page.disconnect(), resume: true, tools });
    await second.waitForText("Let me see. ");
    response.write(toCallFrame("get_depth", { river: "Elbe" }) + toEndFrames("tool_calls"));
    response.end();
    await waitUntil(() => expect(scenario.written).toHaveLength(2));
    scenario.written[1]?.write(toTextFrame("It is "));
    await second.waitForText("Let me see. It is ");
    // the app's stored messages end in the middle of the second step
    const third = openPage(scenario, { storage, messages: second.disconnect(), resume: true, tools });
    await third.waitForText("Let me see. It is ");
    scenario.written[1]?.write(toTextFrame("1 metre") + toEndFrames());
    scenario.written[1]?.end();
    await third.waitForText("Let me see. It is 1 metre");
    await third.waitForStatus("ready");
    expect(third.getChat().messages).toHaveLength(2);
    expect(third.getLast()?.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "text",
      "tool-get_depth",
      "step-start",
      "text",
    ]);
    expect(third.getLast()?.parts[2]).toMatchObject({
      state: "output-available",
      input: { river: "Elbe" },
      output: "1 metres",
    });
    expect(runs).toBe(1);
    expect(scenario.chatRequests).toHaveLength(2);
  });

  test.each([
    ["unknown to the proxy", JSON.stringify({ streamId: "0190a1b2", messageId: "m", earlier: [] })],
    ["no id", JSON.stringify({ streamId: "../secrets", messageId: "m", earlier: [] })],
    ["no record", "nonsense"],
  ])("A record that is %s leaves the chat ready, and is removed", async (_, text) => {
    const scenario = createScenario();
    const storage = createTextStorage();
    storage.setItem("sluice/ai-sdk//chat", text);
    const page = openPage(scenario, { storage, resume: true });
    if (text !== "nonsense") await waitUntil(() => expect([...storage.texts]).toEqual([]));
    await page.waitForStatus("ready");
    expect(page.getChat().messages).toEqual([]);
    expect(scenario.chatRequests).toEqual([]);
  });

  test("A failing storage does not break the chat", async () => {
    const scenario = createScenario();
    const fail = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
    const page = openPage(scenario, {
      storage: { getItem: fail, setItem: fail, removeItem: fail },
      resume: true,
    });
    void page.getChat().sendMessage({ text: "Hello" });
    await waitUntil(() => expect(page.finished).toMatchObject([{ isError: false }]));
  });

  test("A stalled storage does not break the chat, and a warning reports it", async () => {
    const scenario = createScenario();
    const warnings: string[] = [];
    const page = openPage(scenario, {
      storage: { getItem: waitForever, setItem: waitForever, removeItem: waitForever },
      resume: true,
      page: {
        // waits for the storage end at once, and waits for the gateway never end
        clock: {
          now: () => performance.now(),
          sleep: (ms) => (ms <= 3000 ? Promise.resolve() : waitForever()),
        },
        onEvent(event) {
          if (event.type === "warning") warnings.push(event.issue.message);
        },
      },
    });
    await waitUntil(() =>
      expect(warnings).toEqual([expect.stringContaining("did not respond within 3000 ms")]),
    );
    await page.waitForStatus("ready");
    void page.getChat().sendMessage({ text: "Hello" });
    await waitUntil(() => expect(page.finished).toMatchObject([{ isError: false }]));
    expect(scenario.chatRequests).toHaveLength(1);
  });
});

const waitForever = () => new Promise<never>(() => {});

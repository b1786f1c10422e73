// @vitest-environment happy-dom
import { cleanup } from "@testing-library/react";
import { tool } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Options, openPage, textOf, until, type World } from "./support/page.js";
import { called, ended, openWorld, said, textStorage } from "./support/world.js";

afterEach(cleanup);

test("An answer stops at the gateway when its component goes, as useChat stops its chat", async () => {
  const world = openWorld();
  world.answerByHand();
  const page = openPage(world, { storage: textStorage() });
  void page.chat().sendMessage({ text: "Hello" });
  await until(() => expect(world.written).toHaveLength(1));
  world.written[0]?.write(said("one "));
  await page.shows("one ");
  page.unmount();
  await until(() => expect(world.written[0]?.isLeft).toBe(true));
});

describe("a reload", () => {
  async function begun(world: World, options: Options = {}) {
    world.answerByHand();
    const storage = textStorage();
    const page = openPage(world, { storage, ...options });
    void page.chat().sendMessage({ text: "Hello" });
    await until(() => expect(world.written).toHaveLength(1));
    return { storage, page, answer: world.written[0] as World["written"][number] };
  }

  /** Reloads in the middle of an answer, which goes on in the second page. */
  async function resumed(world: World) {
    const { storage, page, answer } = await begun(world);
    answer.write(said("one "));
    await page.shows("one ");
    const after = openPage(world, { storage, messages: page.leave(), resume: true });
    await after.shows("one ");
    return { storage, answer, after };
  }

  test.each([false, true])(
    "An answer goes on after a reload, and is paid once (strict mode: %s)",
    async (strict) => {
      const world = openWorld();
      const { storage, page, answer } = await begun(world);
      answer.write(said("one "));
      await page.shows("one ");
      const { id } = page.last() ?? {};
      const messages = page.leave();
      const after = openPage(world, { storage, messages, resume: true, strict });
      await after.shows("one ");
      answer.write(said("two") + ended());
      answer.end();
      await after.shows("one two");
      await after.is("ready");
      expect(after.last()?.id).toBe(id);
      expect(after.chat().messages).toHaveLength(2);
      expect(world.asked).toHaveLength(1);
      expect(world.stopped).toEqual([]);
      await until(() => expect([...storage.texts]).toEqual([]));
    },
  );

  test("A page that was left before the first word finds its answer", async () => {
    const world = openWorld();
    const { storage, page, answer } = await begun(world);
    await until(() => expect(storage.texts.size).toBe(1));
    const messages = page.leave();
    answer.write(said("late") + ended());
    answer.end();
    const after = openPage(world, { storage, messages, resume: true });
    await after.shows("late");
    await after.is("ready");
    expect(world.asked).toHaveLength(1);
  });

  describe("before the headers of an answer", () => {
    /** Asks, and leaves when the gateway has the request and the page no answer. */
    async function leftBehind(world: World) {
      const { storage, page, answer } = await begun(world, { page: { isDeaf: true } });
      answer.write(said("one answer") + ended());
      answer.end();
      const messages = page.leave();
      expect(messages.map(({ role }) => role)).toEqual(["user"]);
      const after = openPage(world, { storage, messages, resume: true });
      await after.is("ready");
      return { after, storage };
    }

    test("regenerate() brings the answer, and it is paid once; the next one is another", async () => {
      const world = openWorld();
      const { after, storage } = await leftBehind(world);
      void after.chat().regenerate();
      await after.shows("one answer");
      await after.is("ready");
      expect(world.asked).toHaveLength(1);
      await until(() => expect([...storage.texts]).toEqual([]));
      void after.chat().regenerate();
      await until(() => expect(world.asked).toHaveLength(2));
    });

    /** Answers the second request, which the page shows. */
    const answersAnew = async (world: ReturnType<typeof openWorld>, after: ReturnType<typeof openPage>) => {
      await until(() => expect(world.written).toHaveLength(2));
      world.written[1]?.write(said("another answer") + ended());
      world.written[1]?.end();
      await after.shows("another answer");
      expect(world.asked).toHaveLength(2);
    };

    test("another question is another request", async () => {
      const world = openWorld();
      const { after } = await leftBehind(world);
      void after.chat().sendMessage({ text: "And now?" });
      await answersAnew(world, after);
    });

    test("an answer that was stopped is not brought back", async () => {
      const world = openWorld();
      const { storage, page } = await begun(world, { page: { isDeaf: true } });
      await page.chat().stop();
      await until(() => expect([...storage.texts]).toEqual([]));
      const after = openPage(world, { storage, messages: page.leave(), resume: true });
      void after.chat().regenerate();
      await answersAnew(world, after);
    });
  });

  test("A second resumption takes the answer over from the first, and stops nothing", async () => {
    const world = openWorld();
    const { after, answer } = await resumed(world);
    void after.chat().resumeStream();
    answer.write(said("two ") + said("three") + ended());
    answer.end();
    await after.shows("one two three");
    await after.is("ready");
    expect(world.stopped).toEqual([]);
    expect(world.asked).toHaveLength(1);
  });

  test("stop() stops an answer that was resumed", async () => {
    const world = openWorld();
    const { after, storage, answer } = await resumed(world);
    await after.is("streaming");
    await after.chat().stop();
    await until(() => {
      expect(answer.isLeft).toBe(true);
      expect([...storage.texts]).toEqual([]);
    });
    expect(textOf(after.last())).toBe("one ");
  });

  test("A tool of a resumed answer runs once, and its message goes on with all steps after another reload", async () => {
    let runs = 0;
    const world = openWorld();
    const tools = {
      get_depth: tool({ inputSchema: z.object({ river: z.string() }), execute: () => `${++runs} metres` }),
    };
    const { storage, page, answer } = await begun(world, { tools });
    answer.write(said("Let me see. "));
    await page.shows("Let me see. ");
    const second = openPage(world, { storage, messages: page.leave(), resume: true, tools });
    await second.shows("Let me see. ");
    answer.write(called("get_depth", { river: "Elbe" }) + ended("tool_calls"));
    answer.end();
    await until(() => expect(world.written).toHaveLength(2));
    world.written[1]?.write(said("It is "));
    await second.shows("Let me see. It is ");
    // what the app has kept ends in the middle of the second step
    const third = openPage(world, { storage, messages: second.leave(), resume: true, tools });
    await third.shows("Let me see. It is ");
    world.written[1]?.write(said("1 metre") + ended());
    world.written[1]?.end();
    await third.shows("Let me see. It is 1 metre");
    await third.is("ready");
    expect(third.chat().messages).toHaveLength(2);
    expect(third.last()?.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "text",
      "tool-get_depth",
      "step-start",
      "text",
    ]);
    expect(third.last()?.parts[2]).toMatchObject({
      state: "output-available",
      input: { river: "Elbe" },
      output: "1 metres",
    });
    expect(runs).toBe(1);
    expect(world.asked).toHaveLength(2);
  });

  test.each([
    ["unknown to the proxy", JSON.stringify({ streamId: "0190a1b2", messageId: "m", earlier: [] })],
    ["no id", JSON.stringify({ streamId: "../secrets", messageId: "m", earlier: [] })],
    ["no record", "nonsense"],
  ])("A record that is %s leaves the chat ready, and is removed", async (_, text) => {
    const world = openWorld();
    const storage = textStorage();
    storage.setItem("sluice/ai-sdk//chat", text);
    const page = openPage(world, { storage, resume: true });
    if (text !== "nonsense") await until(() => expect([...storage.texts]).toEqual([]));
    await page.is("ready");
    expect(page.chat().messages).toEqual([]);
    expect(world.asked).toEqual([]);
  });

  test("A storage that fails costs no answer", async () => {
    const world = openWorld();
    const fail = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
    const page = openPage(world, {
      storage: { getItem: fail, setItem: fail, removeItem: fail },
      resume: true,
    });
    void page.chat().sendMessage({ text: "Hello" });
    await until(() => expect(page.finished).toMatchObject([{ isError: false }]));
  });

  test("A storage that never answers costs no answer, and a warning says so", async () => {
    const world = openWorld();
    const warnings: string[] = [];
    const page = openPage(world, {
      storage: { getItem: never, setItem: never, removeItem: never },
      resume: true,
      page: {
        // waits for a storage end at once, and those for the gateway never
        clock: {
          now: () => performance.now(),
          sleep: (ms) => (ms <= 3000 ? Promise.resolve() : never()),
        },
        onEvent(event) {
          if (event.type === "warning") warnings.push(event.issue.message);
        },
      },
    });
    await until(() => expect(warnings).toEqual([expect.stringContaining("did not answer within 3000 ms")]));
    await page.is("ready");
    void page.chat().sendMessage({ text: "Hello" });
    await until(() => expect(page.finished).toMatchObject([{ isError: false }]));
    expect(world.asked).toHaveLength(1);
  });
});

const never = () => new Promise<never>(() => {});

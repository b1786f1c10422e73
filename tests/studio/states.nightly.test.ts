import type { Page } from "playwright";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { findProblems } from "../support/axe.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { hasChromium, PNG } from "../support/studio-suite.ts";
import { findVisibleProblems } from "../support/visible.ts";

/** Too narrow for the inspector, which has its own tests. */
const WIDE = { width: 1100, height: 900 };
const INSPECTED = { width: 1440, height: 900 };
const SIZES = [WIDE, { width: 768, height: 1024 }, { width: 390, height: 844 }, { width: 320, height: 640 }];
const COMPLETIONS = "**/v1/chat/completions";

/*
 * Opens each state of each room in all sizes and themes. The states of a room share a page, because loading a page for
 * each takes longer than its checks.
 */
describe.skipIf(!hasChromium)("the states of the studio in Chromium (skipped where there is none)", () => {
  let server: QuickStudio;
  let page: Page;
  /** Room that the page shows. Undefined after a failure, which may leave any state. */
  let opened: string | undefined;

  beforeAll(async () => {
    const options = { speed: Number.POSITIVE_INFINITY, chat: createDemoScript(), cors: true };
    server = await startQuickStudio(options);
    const context = await (await getSharedBrowser()).newContext({
      viewport: WIDE,
      colorScheme: "dark",
      reducedMotion: "reduce",
      // controls then have the size for a finger
      hasTouch: true,
    });
    page = await context.newPage();
  });
  afterAll(async () => {
    await page.context().close();
    await server.close();
  });
  afterEach(({ task }) => {
    if (task.result?.state === "fail") opened = undefined;
  });

  /** Loads a room, or opens a new chat in the loaded page. */
  async function open(room: string): Promise<void> {
    await page.setViewportSize(WIDE);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    if (room !== opened) {
      await page.goto("about:blank");
      await page.goto(`${server.address}/#/${room}`);
    } else {
      await page.keyboard.press("Escape");
      if (room === "chat") await page.getByRole("link", { name: "New chat" }).first().click();
    }
    if (room === "chat") await page.getByRole("region", { name: "Welcome" }).waitFor();
    await page.getByRole("heading", { level: 1 }).waitFor();
    opened = room;
  }

  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const field = (name: string) => page.getByRole("textbox", { name, exact: true });
  const alert = () => page.getByRole("alert").first().waitFor();
  const waitForReply = () => page.getByRole("button", { name: "Regenerate" }).first().waitFor();

  async function sendMessage(text: string): Promise<void> {
    await field("Message").fill(text);
    await field("Message").press("Enter");
  }
  async function generate(prompt: string): Promise<void> {
    await field("Prompt").fill(prompt);
    await button("Generate").click();
  }
  /** Keeps requests to these addresses in flight. */
  const hold = (addresses: string) => page.route(addresses, () => {});

  async function addAsset(name: string): Promise<void> {
    const chooser = page.waitForEvent("filechooser");
    await button("Choose images").click();
    await (await chooser).setFiles([{ name, mimeType: "image/png", buffer: Buffer.from(PNG, "base64") }]);
    await page.getByRole("article", { name, exact: true }).waitFor();
  }

  /** The steps to each state from the open room. */
  const states: Readonly<
    Record<"chat" | "images" | "videos" | "assets", Record<string, () => Promise<unknown>>>
  > = {
    chat: {
      "before the first question": () => field("Message").waitFor(),
      "its settings": async () => {
        await button("Settings").click();
        await page.getByRole("switch", { name: "Tools" }).waitFor();
      },
      "its models": async () => {
        await page.getByRole("button", { name: /^Model: / }).click();
        await page.getByRole("radiogroup").waitFor();
      },
      "a finished response": async () => {
        await sendMessage("Show me what you can do");
        await waitForReply();
      },
      "a response that streams, with a queue": async () => {
        await sendMessage("[[stall]] Compare SQL and NoSQL");
        await page.getByRole("article").last().locator("p").first().waitFor();
        await sendMessage("And then?");
        await page.getByRole("list", { name: "Queued messages" }).waitFor();
      },
      "a response that was stopped": async () => {
        await sendMessage("[[stall]] Compare SQL and NoSQL");
        await page.getByRole("article").last().locator("p").first().waitFor();
        await field("Message").press("Escape");
        await page.getByText("Stopped").waitFor();
      },
      "a response that failed": async () => {
        await sendMessage("[[error-frame]] Compare SQL and NoSQL");
        await alert();
      },
      "a response at its length limit": async () => {
        await sendMessage("[[length]] Compare SQL and NoSQL");
        await button("Continue").waitFor();
      },
      "a tool that needs approval": async () => {
        await sendMessage('Keep a note: "Buy bread"');
        await button("Approve").waitFor();
      },
      "a tool that asks the user": async () => {
        await sendMessage("Help me choose a color for my boat");
        await button("dusk").waitFor();
      },
      "the steps of a turn": async () => {
        await sendMessage("Roll three six-sided dice");
        await page.getByRole("button", { name: /3 steps$/ }).click();
      },
      "a question that is edited": async () => {
        await sendMessage("Hello");
        await waitForReply();
        await button("Edit").click();
        await field("Edit your message").waitFor();
      },
      "two versions of a response": async () => {
        await sendMessage("Hello");
        await waitForReply();
        await button("Regenerate").click();
        await page.getByText("2/2").waitFor();
      },
      "the actions of a chat": async () => {
        await sendMessage("Hello");
        await waitForReply();
        await page
          .getByRole("button", { name: /^Actions for/ })
          .first()
          .click();
        await page.getByRole("menu").waitFor();
      },
      "images to send, and one that can't be": async () => {
        const files = ["a.png", "b.pdf"].map((name) => ({
          name,
          mimeType: name.endsWith("png") ? "image/png" : "application/pdf",
          buffer: Buffer.from(PNG, "base64"),
        }));
        await page.locator("input[type=file]").first().setInputFiles(files);
        await alert();
      },
      "a request that waits": async () => {
        await hold(COMPLETIONS);
        await sendMessage("Hello");
        await button("Stop").waitFor();
      },
    },
    images: {
      "without one": () => field("Prompt").waitFor(),
      settings: async () => {
        await page.getByRole("button", { name: /^Settings: / }).click();
        await page.getByRole("dialog").waitFor();
      },
      "a prompt that is missing": async () => {
        await button("Generate").click();
        await page.getByText("Add a prompt.").waitFor();
      },
      "an image that may be billed": async () => {
        await generate("A reef [[drop]]");
        await alert();
      },
      "an image in full size": async () => {
        await generate("A reef");
        await button("Open A reef").click();
        await page.locator(".yarl__slide_current").getByText("A reef").waitFor();
      },
      "a set of which one failed": async () => {
        await page.getByRole("button", { name: /^Settings: / }).click();
        await field("Number of images").fill("3");
        await page.keyboard.press("Escape");
        await generate("Waves [[partial]]");
        const tiles = page.getByRole("listitem", { name: "Waves [[partial]]" });
        await tiles.getByText("This image failed").waitFor();
      },
      "images that are made": async () => {
        await hold("**/v1/images/generations");
        await generate("Waves");
        await button("Stop").waitFor();
      },
      references: async () => {
        await button("Add: Reference images").click();
        await field("Reference images: link").fill("ftp://example.com/a.png");
        await field("Reference images: link").press("Enter");
        await page.getByText("Use a link: https://…").first().waitFor();
      },
    },
    videos: {
      "without one": () => field("Prompt").waitFor(),
      settings: async () => {
        await page.getByRole("button", { name: /^Settings: / }).click();
        await page.getByRole("dialog").waitFor();
      },
      "a finished video": async () => {
        await generate("Waves");
        await page.getByRole("article").locator("video").waitFor();
      },
      "a video that failed": async () => {
        await generate("Waves [[fail]]");
        await page
          .getByRole("article")
          .getByText(/failed|did not/)
          .first()
          .waitFor();
      },
      "a create that may be billed": async () => {
        await generate("Waves [[drop]]");
        await page.getByText("You may have been charged.").first().waitFor();
      },
      "a video that is made": async () => {
        await hold("**/v1/video/generations/*");
        await generate("Waves at dawn");
        await page.getByRole("progressbar", { name: "Progress", exact: true }).waitFor();
      },
    },
    assets: {
      "without one": () => button("Choose images").waitFor(),
      "one that is there": () => addAsset("hero.png"),
      "one that may be billed": async () => {
        await addAsset("hero-[[drop]].png");
        await page.getByText("You may have been charged.").waitFor();
      },
    },
  };

  async function isVisible(size: typeof WIDE): Promise<void> {
    await page.setViewportSize(size);
    await expect
      .poll(() => page.evaluate(findVisibleProblems), { message: `at ${size.width} pixels` })
      .toEqual([]);
  }

  describe.for(Object.entries(states))("%s", ([room, ofRoom]) => {
    test.for(Object.entries(ofRoom))("%s", async ([, reach]) => {
      await open(room);
      await reach();
      for (const size of SIZES) await isVisible(size);
      await page.emulateMedia({ colorScheme: "light" });
      await expect.poll(() => findProblems(page), { message: "light, narrow" }).toEqual([]);
      await page.setViewportSize(WIDE);
      await page.emulateMedia({ colorScheme: "dark" });
      await expect.poll(() => findProblems(page), { message: "dark, wide" }).toEqual([]);
    });

    test("beside the inspector", async () => {
      if (room !== opened) await open(room);
      await page.setViewportSize(INSPECTED);
      await page.keyboard.press("Control+.");
      await page.getByRole("complementary", { name: "Inspector" }).waitFor();
      await isVisible(INSPECTED);
      await page.keyboard.press("Control+.");
    });
  });

  /* In the sizes above, what hangs on a button goes with the button. */
  test("menus, lists and dialogs above the page", async () => {
    await open("chat");
    await page.emulateMedia({ colorScheme: "light" });
    await sendMessage("Hello");
    await waitForReply();
    const menu = (name: RegExp) => async () => {
      await page.getByRole("button", { name }).first().click();
      await page.getByRole("menu").waitFor();
    };
    const dialog = (keys: string) => async () => {
      await page.keyboard.press(keys);
      await page.getByRole("dialog").waitFor();
    };
    const opened = {
      "the actions of a chat": menu(/^Actions for/),
      "the palette": dialog("Control+k"),
      "a list of models": async () => {
        await page.getByRole("link", { name: "Images" }).click();
        await page.getByRole("combobox").first().click();
        await page.getByRole("listbox").waitFor();
      },
      "the actions of an image": async () => {
        await generate("A reef");
        await button("Open A reef").first().waitFor();
        await page.getByRole("listitem", { name: "A reef" }).first().hover();
        await menu(/^Actions$/)();
      },
    };
    for (const [name, reach] of Object.entries(opened)) {
      await reach();
      await expect.poll(() => findProblems(page), { message: name }).toEqual([]);
      await page.keyboard.press("Escape");
      await expect
        .poll(() => page.getByRole("menu").or(page.getByRole("listbox")).or(page.getByRole("dialog")).count())
        .toBe(0);
    }
  });
});

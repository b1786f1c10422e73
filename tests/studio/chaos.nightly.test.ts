import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { getSharedBrowser } from "../support/browser.ts";
import { startStudioInWorkerd } from "../support/studio-in-workerd.ts";
import { openStudio, type StudioPage } from "../support/studio-page.ts";
import { hasChromium, MINUTE } from "../support/studio-suite.ts";

const REPLY = `Rivers run to the sea. ${"They carry stones and leaves. ".repeat(40)}That is all of it.`;

/* Without a reload, the page shows the failure, and continues by itself or after one click. */
describe.skipIf(!hasChromium)(
  "the studio on workerd under fire (skipped where there is no Chromium)",
  { timeout: 60_000 },
  () => {
    let scenario: Awaited<ReturnType<typeof startStudioInWorkerd>>;
    let studio: StudioPage;
    /** Number of pauses of the gateway until it waits for `resume`. */
    let pauses = Number.POSITIVE_INFINITY;
    let resumed: Promise<void>;
    let resume: () => void;
    let ahead = 0;

    beforeAll(async () => {
      const clock = {
        now: () => Date.now() + ahead,
        async sleep(ms: number, signal?: AbortSignal) {
          pauses -= 1;
          const aborted = new Promise((resolve) => signal?.addEventListener("abort", resolve));
          await (pauses < 0 ? Promise.race([resumed, aborted]) : setTimeout(ms / 10));
          signal?.throwIfAborted();
        },
      };
      scenario = await startStudioInWorkerd({ chat: () => ({ content: REPLY, reasoning: "" }), clock });
    }, 120_000);
    afterAll(() => scenario.close());
    beforeEach(() => {
      resumed = new Promise((resolve) => {
        resume = resolve;
      });
      pauses = Number.POSITIVE_INFINITY;
      scenario.emulator.reset();
    });
    afterEach(async () => {
      resume();
      await studio.close();
    });

    /** Sends a question, and waits until the gateway pauses in the middle of the response. */
    async function sendAndPause(): Promise<void> {
      pauses = 40;
      await studio.sendMessage("Where do rivers go?");
      await expect.poll(() => pauses).toBeLessThan(0);
      await studio.findReply().getByText("Rivers run to the sea").waitFor();
    }
    const regenerate = () => studio.findReply().getByRole("button", { name: "Regenerate" });
    const alert = () => studio.page.getByRole("alert");

    test("a response whose proxy is killed says that it is incomplete, and one click completes it after the restart", async () => {
      studio = await openStudio(await getSharedBrowser(), `${scenario.address}/#/chat`);
      await sendAndPause();
      await scenario.killWorker();
      await scenario.restartWorker();
      await alert().getByRole("button", { name: "Try again" }).waitFor();
      await studio.settled();
      await studio.findReply().getByText("Rivers run to the sea").waitFor();
      pauses = Number.POSITIVE_INFINITY;
      resume();
      await alert().getByRole("button", { name: "Try again" }).click();
      await regenerate().waitFor();
      await studio.findReply().getByText("That is all of it.").waitFor();
      await alert().waitFor({ state: "detached" });
      expect(scenario.billed()).toHaveLength(2);
    });

    test("a response that an unstable network cut continues, and is requested once", async () => {
      studio = await openStudio(await getSharedBrowser(), `${scenario.address}/#/chat`);
      await sendAndPause();
      for (let times = 0; times < 3; times += 1) {
        await studio.page.context().setOffline(true);
        await studio.page.getByText("No connection").waitFor();
        await expect.poll(() => regenerate().count()).toBe(0);
        await studio.page.context().setOffline(false);
        await studio.page.getByText("No connection").waitFor({ state: "detached" });
      }
      pauses = Number.POSITIVE_INFINITY;
      resume();
      await regenerate().waitFor();
      await studio.findReply().getByText("That is all of it.").waitFor();
      await expect.poll(() => alert().count()).toBe(0);
      // the connection was lost, and the response was resumed after its last event
      expect(studio.seen.some((text) => text.includes("last-event-id"))).toBe(true);
      expect(scenario.billed()).toHaveLength(1);
    });

    test("a video continues while the gateway is down, and is shown after its restart", async () => {
      studio = await openStudio(await getSharedBrowser(), `${scenario.address}/#/videos`);
      const { page } = studio;
      await page.getByRole("textbox", { name: "Prompt", exact: true }).fill("A reef at dawn");
      await page.getByRole("button", { name: "Generate", exact: true }).click();
      const card = page.getByRole("article", { name: "A reef at dawn", exact: true });
      await card.getByRole("progressbar", { name: "Progress", exact: true }).waitFor();
      await expect.poll(() => scenario.billed().length).toBe(1);
      const refusals = await scenario.stopGateway();
      await expect.poll(refusals).toBeGreaterThan(0);
      await expect
        .poll(() => card.getByRole("progressbar", { name: "Progress", exact: true }).count())
        .toBe(1);
      ahead += 10 * MINUTE;
      await scenario.restartGateway();
      await card.locator("video").waitFor();
      expect(scenario.billed()).toHaveLength(1);
    });
  },
);

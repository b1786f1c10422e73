import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)(
  "The recording of the first screen in Chromium (skipped where there is none)",
  () => {
    const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY });
    const recording = () => studio.page.getByRole("figure", { name: "Recorded response" });
    const running = () => recording().locator("[data-runs]").innerText();

    /** Loads the page again, with a clock that the test moves. */
    async function play(): Promise<void> {
      studio.spend();
      await studio.page.emulateMedia({ reducedMotion: "no-preference" });
      await studio.page.clock.install();
      await studio.page.reload();
      // the room takes the place of its first screen, which has the recording, too
      await studio.button("Settings").waitFor();
      await studio.page.clock.pauseAt(Date.now() + 3_600_000);
      await studio.page.clock.runFor(20_000);
      await studio.button("Replay the recording").click();
    }

    test("plays a cut that is resumed, marks the code that runs, and sends nothing", async () => {
      await play();
      expect(await running()).toContain("streamChat(");
      for (const [text, code] of [
        ["Streaming", "show("],
        ["Connection lost, resuming", "resume:"],
        ["Streaming", "show("],
        ["Complete", "stream.result()"],
      ] as const) {
        while (!(await recording().getByText(text, { exact: true }).isVisible()))
          await studio.page.clock.runFor(500);
        expect((await running()).trim()).toContain(code);
      }
      expect(await recording().innerText()).toContain("The boat leaves at the upper level.");
      expect(studio.emulator.requests).toEqual([]);
    });

    test("does not move while it is paused", async () => {
      await play();
      await studio.page.clock.runFor(2000);
      await studio.button("Pause the recording").click();
      const before = await recording().innerText();
      await studio.page.clock.runFor(5000);
      expect(await recording().innerText()).toBe(before.replace("Pause", "Play"));
      await studio.button("Play the recording").click();
      await studio.page.clock.runFor(2000);
      expect(await recording().innerText()).not.toBe(before);
    });

    test("shows its end to a person who wants less motion", async () => {
      await recording().getByText("Complete", { exact: true }).waitFor();
      expect(await running()).toContain("stream.result()");
    });
  },
);

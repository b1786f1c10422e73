import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)("“Break it” in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: 20 }, /Failed to load resource|ERR_/, 1280);
  const calls = () => studio.page.getByRole("list", { name: "Calls" }).getByRole("listitem");

  async function play(fault: string): Promise<void> {
    await studio.page.getByRole("link", { name: "New chat" }).click();
    const group = studio.page.getByRole("group", { name: "Break it" });
    await group.getByRole("button", { name: fault, exact: true }).click();
  }

  const alert = () => studio.page.getByRole("main").getByRole("alert");
  /** The mark that each fault leaves: in the list of calls, or in the chat. */
  const marks: Readonly<Record<string, () => Promise<unknown>>> = {
    "429": () => calls().first().getByText("429, 200").waitFor(),
    Cut: () => alert().getByText("The response was cut off").waitFor(),
    Stall: () => studio.page.getByRole("main").getByText("Stopped", { exact: true }).waitFor(),
    // the proxy offers idempotency, so that the client repeats the request
    "Lost response": () =>
      calls()
        .first()
        .getByText(/^–, 200$/)
        .waitFor(),
    Offline: () => alert().waitFor(),
  };

  test.each(Object.keys(marks))(
    "%s works twice in a row, and the next question has no fault",
    async (fault) => {
      for (const _ of [1, 2]) {
        await play(fault);
        if (fault === "Stall") {
          await studio.page
            .getByRole("article", { name: "Assistant's message" })
            .locator("p")
            .first()
            .waitFor();
          await studio.button("Stop").click();
        }
        await marks[fault]?.();
      }
      // the next question has no fault
      await studio.page.getByRole("link", { name: "New chat" }).click();
      await expect
        .poll(
          async () => {
            await studio.field("Message").fill("Hello");
            await studio.field("Message").press("Enter");
            return studio.page.getByRole("button", { name: "Regenerate" }).count();
          },
          { interval: 2000 },
        )
        .toBeGreaterThan(0);
    },
  );

  test("The list names the chat of a fault after the fault", async () => {
    await play("Cut");
    const chats = studio.page.getByRole("navigation", { name: "Chats" });
    await chats.getByRole("link", { name: "Cut · Show me what you can do" }).first().waitFor();
  });

  test("Second tab opens the same chats", async () => {
    const opened = studio.page.context().waitForEvent("page");
    await studio.button("Second tab").click();
    const tab = await opened;
    await tab.getByRole("region", { name: "Welcome" }).waitFor();
    await studio.field("Message").fill("Hello");
    await studio.field("Message").press("Enter");
    await tab.getByRole("navigation", { name: "Chats" }).getByRole("link", { name: "Hello" }).waitFor();
    await tab.close();
  });
});

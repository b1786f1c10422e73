import { describe, expect, test } from "vitest";
import { COMPLETIONS, openChat } from "../support/chat-room.ts";
import { hasChromium, PNG } from "../support/studio-suite.ts";

const LONG_NOTE = Array.from({ length: 24 }, (_, index) => `word ${index}`).join(" and ");

describe.skipIf(!hasChromium)("the studio's chat in Chromium (skipped where there is none)", () => {
  const {
    room,
    sendAndWait,
    offerTools,
    openNewChat,
    findButton,
    findQuestion,
    findReplies,
    findEntry,
    findEntries,
    findCard,
  } = openChat();

  describe("a response", () => {
    test("A failed response says so, also after a reload, with one action", async () => {
      await room.studio.sendMessage("[[error-frame]] A quiet weekend in a town by a river, please");
      const alert = room.page.getByRole("alert");
      await alert.getByText("The model had an error").waitFor();
      await expect.poll(() => findButton("Regenerate").count()).toBe(0);
      // it ends in front of a word in bold
      await expect
        .poll(() => room.studio.findReply().locator("p").first().innerText())
        .toMatch(/^Two days[^*]+$/);
      await room.page.reload();
      await alert.getByText("The model had an error").waitFor();
      const release = await room.studio.hold(COMPLETIONS);
      await alert.getByRole("button", { name: "Try again" }).click();
      await findButton("Stop").waitFor();
      await alert.waitFor({ state: "detached" });
      await release();
      // it fails again; a request that is still under way would be noted in the next test
      await alert.getByText("The model had an error").waitFor();
    });
  });

  describe("a tool", () => {
    test("A tool that needs approval runs once approved, by the keyboard", async () => {
      await offerTools();
      await room.studio.sendMessage(`Keep a note: "${LONG_NOTE}"`);
      await findButton("Approve").waitFor();
      await expect.poll(() => findButton("Regenerate").count()).toBe(0);
      expect(room.studio.bodies).toHaveLength(1);
      await findButton("Approve").press("Enter");
      await room.studio.findReply().getByText("The page has your note now").waitFor();
      await room.studio
        .findReply()
        .getByRole("button", { name: /^Save a note · / })
        .click();
      await findCard("Save a note").getByText("saved").waitFor();
    });
  });

  describe("versions", () => {
    test("Regenerate makes versions of a response, and the arrows lead between them", async () => {
      await sendAndWait("Hello");
      const release = await room.studio.hold(COMPLETIONS);
      await findButton("Regenerate").click();
      await findButton("Stop").click();
      await release();
      await room.studio.findReply().getByText("2/2").waitFor();
      await room.studio.findReply().getByText("Stopped").waitFor();
      await findButton("Previous version").press("Enter");
      await room.studio.findReply().getByText("1/2").waitFor();
      await room.studio.findReply().getByText("Stopped").waitFor({ state: "detached" });
      await findButton("Next version").click();
      await room.studio.findReply().getByText("Stopped").waitFor();
    });
  });

  describe("the composer", () => {
    const previews = () => room.page.getByRole("list", { name: "Images to send" }).getByRole("img");

    const names = () => previews().evaluateAll((images) => images.map((it) => it.getAttribute("alt")));

    async function pick(...files: string[]): Promise<void> {
      const chooser = room.page.waitForEvent("filechooser");
      await findButton("Add images").click();
      const buffer = Buffer.from(PNG, "base64");
      await (await chooser).setFiles(files.map((name) => ({ name, mimeType: "image/png", buffer })));
    }

    /** Does what Ctrl+V and a drop do. */
    async function give(kind: "paste" | "drop", name: string, type: string): Promise<void> {
      await room.studio.field.evaluate(
        (field, [event, file, mime, data]) => {
          const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
          const clipboard = new DataTransfer();
          clipboard.items.add(new File([bytes], file, { type: mime }));
          const options = { bubbles: true, cancelable: true };
          field.dispatchEvent(
            event === "paste"
              ? new ClipboardEvent("paste", { ...options, clipboardData: clipboard })
              : new DragEvent("drop", { ...options, dataTransfer: clipboard }),
          );
        },
        [kind, name, type, PNG] as const,
      );
    }

    test("takes images from the picker, the clipboard and a drop, and sends those that stay", async () => {
      await pick("river.png", "weir.png");
      await give("paste", "pasted.png", "image/png");
      await give("drop", "dropped.png", "image/png");
      await expect.poll(names).toEqual(["river.png", "weir.png", "pasted.png", "dropped.png"]);
      await findButton("Remove weir.png").click();
      await findButton("Remove dropped.png").click();
      await give("drop", "notes.pdf", "application/pdf");
      await room.page.getByRole("alert").getByText("notes.pdf").waitFor();
      await expect.poll(() => findButton("Send").isEnabled()).toBe(true);
      await findButton("Send").click();
      await room.studio.findReply().getByRole("button", { name: "Regenerate" }).waitFor();
      await expect.poll(() => previews().count()).toBe(0);
      await expect
        .poll(() => findQuestion().getByRole("list", { name: "Images" }).getByRole("listitem").count())
        .toBe(2);
      const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
      expect(room.studio.bodies[0]?.messages).toEqual([{ role: "user", content: [image, image] }]);
    });

    test("queues messages during a response, and drops those that are removed", async () => {
      const release = await room.studio.hold(COMPLETIONS);
      await room.studio.sendMessage("Hello");
      await findButton("Stop").waitFor();
      await room.studio.sendMessage("Never mind");
      await room.studio.sendMessage("Thanks");
      const queue = room.page.getByRole("list", { name: "Queued messages" });
      await queue.getByText("Thanks").waitFor();
      await findButton("Remove “Never mind”").click();
      await queue.getByText("Never mind").waitFor({ state: "detached" });
      await release();
      await findReplies().nth(1).getByRole("button", { name: "Regenerate" }).waitFor();
      expect(room.studio.bodies.map(({ messages }) => messages.at(-1))).toMatchObject([
        { content: "Hello" },
        { content: "Thanks" },
      ]);
    });
  });

  describe("conversations", () => {
    test("are listed with the newest question first, and survive a reload", async () => {
      const newest = async () => (await findEntries()).slice(0, 2);
      await sendAndWait("First of two");
      await openNewChat();
      await sendAndWait("Second of two");
      await expect.poll(newest).toEqual(["Second of two", "First of two"]);
      await room.page.reload();
      await findQuestion().getByText("Second of two").waitFor();
      await findEntry("First of two").click();
      await findQuestion().getByText("First of two").waitFor();
      await expect.poll(() => findEntry("First of two").getAttribute("aria-current")).toBe("page");
      await expect.poll(() => room.page.title()).toBe("First of two · Sluice");
      await sendAndWait("Hi");
      await expect.poll(newest).toEqual(["First of two", "Second of two"]);
    });
  });
});

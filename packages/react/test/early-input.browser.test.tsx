import { createClient } from "@sluice/core";
import { GatewayProvider, useAttachments } from "@sluice/react";
import { startTransition, useLayoutEffect } from "react";
import { createRoot } from "react-dom/client";
import { expect, onTestFinished, test } from "vitest";

/* React paints a page before it hears of stores. What is entered between the two must be known to the next event. */

const client = createClient({ baseURL: "https://gateway.test" });
const image = new File([new Uint8Array(10)], "reef.png", { type: "image/png" });

interface ComposerProps {
  readonly onSend: (files: number) => void;
  /** Called at the first moment at which the page can take a file. */
  readonly onShown: () => void;
}

function Composer({ onSend, onShown }: ComposerProps) {
  const { attachments, inputProps, clear } = useAttachments("alpha-v4.1-flash");
  const send = () => {
    if (attachments.length > 0) onSend(attachments.length);
    clear();
  };
  useLayoutEffect(() => queueMicrotask(onShown), [onShown]);
  return (
    <>
      <input {...inputProps} />
      <button type="button" onClick={send}>
        send
      </button>
    </>
  );
}

/** Shows a composer in a page that is loading. Resolves to the messages that it sends for events right after the paint. */
async function sendAfterPaint(press: (composer: HTMLElement) => Promise<void>): Promise<unknown[]> {
  const sent: unknown[] = [];
  const container = document.body.appendChild(document.createElement("div"));
  const root = createRoot(container);
  onTestFinished(() => {
    root.unmount();
    container.remove();
  });
  await new Promise<void>((resolve, reject) => {
    const onShown = () => void press(container).then(resolve, reject);
    const onSend = (files: number) => void sent.push(files);
    startTransition(() =>
      root.render(
        <GatewayProvider client={client}>
          <Composer onSend={onSend} onShown={onShown} />
        </GatewayProvider>,
      ),
    );
  });
  return sent;
}

/** Lets React render what an event has changed, and nothing else happen. */
const rendered = () => Promise.resolve().then(() => {});
async function clickSend(composer: HTMLElement): Promise<void> {
  composer.querySelector("button")?.click();
  await rendered();
}
async function choose(composer: HTMLElement): Promise<void> {
  const input = composer.querySelector("input") as HTMLInputElement;
  const chosen = new DataTransfer();
  chosen.items.add(image);
  input.files = chosen.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  await rendered();
}

test("a file that is chosen right after the page is painted goes with the message", async () => {
  const sent = await sendAfterPaint(async (composer) => {
    await choose(composer);
    await clickSend(composer);
  });
  expect(sent).toEqual([1]);
});

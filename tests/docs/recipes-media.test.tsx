import { type Client, createClient, type Tool } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { GatewayProvider } from "@sluice/react";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";
import { openNetwork } from "../support/recipe-network.ts";

/* The recipes about results and their cost, as they stand on their pages. */

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("download and share", () => {
  interface Share {
    readResult(client: Client, url: string, name: string): Promise<File | undefined>;
    shareFile(file: File): Promise<string>;
  }
  const files = writeFilesOfPage("docs/recipes/download-and-share.md");
  const client = createClient({ baseURL: "https://app.example.com/api" });
  const file = new File(["1"], "reef.png", { type: "image/png" });
  let saved: string[] = [];
  beforeEach(() => {
    saved = [];
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      saved.push(this.download);
    });
  });

  test("reads a result as a file with its type, and reports an expired link", async () => {
    const { readResult } = await files<Share>("share-media.ts");
    openNetwork({
      "files.example.com": ({ url }) =>
        url.endsWith("gone.png")
          ? new Response(null, { status: 403 })
          : new Response("pixels", { headers: { "content-type": "image/png" } }),
    });
    const result = await readResult(client, "https://files.example.com/reef.png", "reef");
    expect([result?.name, result?.type]).toEqual(["reef.png", "image/png"]);
    expect(await readResult(client, "https://files.example.com/gone.png", "reef")).toBeUndefined();
  });

  test.each([
    ["shared", async () => {}, true],
    ["cancelled", () => Promise.reject(new DOMException("no app", "AbortError")), true],
    ["saved", () => Promise.reject(new DOMException("no", "NotAllowedError")), true],
    ["saved", async () => {}, false],
  ])("a file is %s", async (result, share, canShare) => {
    const { shareFile } = await files<Share>("share-media.ts");
    vi.stubGlobal("navigator", { canShare: () => canShare, share });
    expect(await shareFile(file)).toBe(result);
    expect(saved).toEqual(result === "saved" ? ["reef.png"] : []);
  });
});

describe("an expensive call", () => {
  const files = writeFilesOfPage("docs/recipes/ask-before-an-expensive-call.md");

  test.each([
    [5, true, [], 1],
    [15, true, ["This call costs up to 0.75 EUR. Continue?"], 1],
    [15, false, ["This call costs up to 0.75 EUR. Continue?"], 0],
  ])("of %i seconds with the user's reply %s asks %j", async (duration, isAllowed, questions, created) => {
    const { Video } = await files<{ Video: FunctionComponent<{ duration: number }> }>("video.tsx");
    const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
    const shown: string[] = [];
    vi.stubGlobal("confirm", (question: string) => {
      shown.push(question);
      return isAllowed;
    });
    render(
      <GatewayProvider client={createClient(emulator.clientOptions)}>
        <Video duration={duration} />
      </GatewayProvider>,
    );
    fireEvent.click(screen.getByRole("button", { name: "Create" }));
    expect(shown).toEqual(questions);
    await expect
      .poll(() => emulator.requests.filter(({ method }) => method === "POST"))
      .toHaveLength(created);
  });

  test("needs an approval above the limit if a model requests it", async () => {
    const { createVideoTool } = await files<{ createVideoTool(client: Client): Tool }>("tool.ts");
    const tool = createVideoTool(createClient({ baseURL: "https://app.example.com/api" }));
    const needsApproval = (duration: number) => tool.needsApproval({ prompt: "A reef", duration } as never);
    expect([await needsApproval(5), await needsApproval(15)]).toEqual([false, true]);
  });
});

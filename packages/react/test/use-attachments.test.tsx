import {
  GatewayProvider,
  type UseAttachmentsOptions,
  type UseAttachmentsResult,
  useAttachments,
} from "@sluice/react";
import { signOut } from "@sluice/stores";
import { act, cleanup, createEvent, fireEvent, render, screen, waitFor } from "@testing-library/react";
import * as React from "react";
import { StrictMode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTestClient, decodeBase64, settled } from "../../core/test/support/gateway.js";

/** React 18 has none. */
/** Undefined before React 19.2: the tests about it are then skipped. */
const { Activity } = React as Partial<typeof React>;
const PIXEL = decodeBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);
const png = (name = "reef.png", type = "image/png") => new File([PIXEL as BlobPart], name, { type });
/** A PNG of one row of `width` pixels, and of `bytes` bytes. */
const wide = (width: number, bytes = PIXEL.length) => {
  const content = new Uint8Array(bytes);
  content.set(PIXEL);
  new DataView(content.buffer).setUint32(16, width);
  return new File([content], `${width}.png`, { type: "image/png" });
};

/** Addresses of previews that are not revoked. */
const open = new Set<string>();
let made = 0;
beforeEach(() => {
  vi.spyOn(URL, "createObjectURL").mockImplementation(() => {
    made += 1;
    open.add(`blob:${made}`);
    return `blob:${made}`;
  });
  vi.spyOn(URL, "revokeObjectURL").mockImplementation((url) => void open.delete(url));
});
afterEach(() => {
  // a component that goes revokes its previews a second later
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  open.clear();
});

const held: { result?: UseAttachmentsResult } = {};

function Composer({
  model = "alpha-v4.1-flash",
  options,
}: {
  model?: string;
  options?: UseAttachmentsOptions;
}) {
  const result = useAttachments(model, options);
  held.result = result;
  const { attachments, problems, isDragging, inputProps, dropProps, onPaste, remove } = result;
  return (
    <form {...dropProps} aria-label={isDragging ? "drop here" : "composer"}>
      {attachments.map(({ id, file, previewUrl }) => (
        <button key={id} type="button" onClick={() => remove(id)}>
          <img src={previewUrl} alt={file.name} />
        </button>
      ))}
      {problems.map(({ id, message }) => (
        <p key={id}>{message}</p>
      ))}
      <textarea onPaste={onPaste} />
      <input {...inputProps} aria-label="images" />
    </form>
  );
}

const show = (model?: string, options?: UseAttachmentsOptions) => {
  const composer = (model?: string) => (
    <StrictMode>
      <Composer {...(model && { model })} {...(options && { options })} />
    </StrictMode>
  );
  const { rerender, unmount } = render(composer(model));
  return { unmount, setModel: (model: string) => rerender(composer(model)) };
};
const add = (...files: File[]) => act(() => held.result?.add(files));
const names = () => held.result?.attachments.map(({ file }) => file.name);
const problems = () => held.result?.problems.map(({ file, problem }) => `${file.name}: ${problem}`);
const isReady = () => waitFor(() => expect(held.result?.isPreparing).toBe(false));

test("an image of the picker is checked, shown and ready to be sent", async () => {
  show();
  fireEvent.change(screen.getByLabelText("images"), { target: { files: [png()] } });
  expect(held.result?.isPreparing).toBe(true);
  expect(screen.getByRole("img").getAttribute("src")).toMatch(/^blob:/);
  await isReady();
  expect(held.result?.images).toEqual([expect.any(File)]);
  expect(screen.getByLabelText("images").getAttribute("accept")).toBe(
    "image/jpeg,image/png,image/gif,image/webp",
  );
});

test("an image can be pasted, and text beside an image stays text", async () => {
  show();
  const paste = (types: string[]) => {
    const event = createEvent.paste(screen.getByRole("textbox"), {
      clipboardData: { files: [png()], types },
    });
    fireEvent(screen.getByRole("textbox"), event);
    return event.defaultPrevented;
  };
  expect([paste(["text/plain", "Files"]), names()]).toEqual([false, []]);
  expect([paste(["Files"]), names()]).toEqual([true, ["reef.png"]]);
  await isReady();
});

test("an image can be dropped, and the element shows that it is a drop target", async () => {
  show();
  const form = screen.getByRole("form");
  // true is an event whose default the page leaves alone: the browser then takes no drop
  expect(fireEvent.dragOver(form, { dataTransfer: { types: ["text/plain"], files: [] } })).toBe(true);
  expect(form.getAttribute("aria-label")).toBe("composer");
  expect(fireEvent.dragOver(form, { dataTransfer: { types: ["Files"], files: [] } })).toBe(false);
  expect(form.getAttribute("aria-label")).toBe("drop here");
  expect(fireEvent.drop(form, { dataTransfer: { types: ["Files"], files: [png()] } })).toBe(false);
  expect([form.getAttribute("aria-label"), names()]).toEqual(["composer", ["reef.png"]]);
  await isReady();
});

test("Files that are dragged over a child of the element have not left it", () => {
  show();
  const form = screen.getByRole("form");
  fireEvent.dragOver(form, { dataTransfer: { types: ["Files"], files: [] } });
  const leaveFor = (relatedTarget: Element) =>
    fireEvent(
      form,
      Object.defineProperty(createEvent.dragLeave(form), "relatedTarget", { value: relatedTarget }),
    );
  leaveFor(screen.getByRole("textbox"));
  expect(form.getAttribute("aria-label")).toBe("drop here");
  leaveFor(document.body);
  expect(form.getAttribute("aria-label")).toBe("composer");
});

test("The browser keeps what is dropped or pasted without a file", () => {
  show();
  const dataTransfer = { types: ["text/plain"], files: [] };
  expect(fireEvent.drop(screen.getByRole("form"), { dataTransfer })).toBe(true);
  const clipboardData = { types: ["text/html"], files: [] };
  expect(fireEvent.paste(screen.getByRole("textbox"), { clipboardData })).toBe(true);
  expect([names(), problems()]).toEqual([[], []]);
});

test("The picker is empty after a choice, so that the same file can be chosen again", async () => {
  show();
  const input = { files: [png()], value: "reef.png" };
  act(() => held.result?.inputProps.onChange({ currentTarget: input } as never));
  expect([input.value, names()]).toEqual(["", ["reef.png"]]);
  await isReady();
});

test("a file that is not an image is refused, by its type or by its bytes", async () => {
  show();
  add(new File(["hello"], "notes.txt", { type: "text/plain" }), png());
  expect([names(), problems()]).toEqual([["reef.png"], ["notes.txt: type"]]);
  add(new File(["hello"], "fake.png", { type: "image/png" }));
  await waitFor(() => expect(problems()).toEqual(["fake.png: type"]));
  expect(names()).toEqual(["reef.png"]);
  expect(screen.getByRole("paragraph").textContent).toBe(
    "“\u2068fake.png\u2069” is not a JPEG, PNG, GIF or WebP image.",
  );
});

test("A file without a type is judged by its bytes", async () => {
  show();
  add(png("reef", ""));
  await isReady();
  expect([names(), problems()]).toEqual([["reef"], []]);
});

test("A file that is removed before its check causes no problem later", async () => {
  show();
  const fake = (name: string) => new File(["hello"], name, { type: "image/png" });
  add(fake("one.png"), fake("two.png"));
  fireEvent.click(screen.getByRole("button", { name: "one.png" }));
  await waitFor(() => expect(problems()).toEqual(["two.png: type"]));
  expect(names()).toEqual([]);
});

test("an empty image is unreadable", async () => {
  show();
  add(new File([], "empty.png", { type: "image/png" }));
  await waitFor(() => expect(problems()).toEqual(["empty.png: unreadable"]));
  expect(names()).toEqual([]);
});

test("a file name can't turn the direction of the message around", () => {
  show();
  add(new File(["hello"], "\u202Egnp.exe", { type: "text/plain" }));
  expect(held.result?.problems[0]?.message).toBe(
    "“\u2068\u202Egnp.exe\u2069” is not a JPEG, PNG, GIF or WebP image.",
  );
});

test("the number and the size have limits, which the message names", async () => {
  show(undefined, { max: 1, maxBytes: 10, downscale: false });
  add(png("one.png"), png("two.png"));
  expect(problems()).toEqual(["two.png: number"]);
  expect(held.result?.problems[0]?.message).toBe("“\u2068two.png\u2069” was not added. Limit: 1 images.");
  await waitFor(() => expect(problems()).toEqual(["two.png: number", "one.png: size"]));
  act(() => held.result?.dismiss());
  expect(problems()).toEqual([]);
});

test("Without options ten images fit, and none above 5 MB", async () => {
  vi.stubGlobal("createImageBitmap", undefined);
  show(undefined, {});
  const all = Array.from({ length: 11 }, (_, nth) => png(`${nth}.png`));
  add(...all);
  expect([names()?.length, problems()]).toEqual([10, ["10.png: number"]]);
  expect(held.result?.problems[0]?.message).toBe("“\u206810.png\u2069” was not added. Limit: 10 images.");
  await isReady();
  act(() => held.result?.clear());
  expect([names(), problems()]).toEqual([[], []]);
  // where there is no canvas, nothing is made smaller
  add(wide(1, 5_242_880), wide(2, 5_242_881));
  await waitFor(() => expect(problems()).toEqual(["2.png: size"]));
  await isReady();
  expect(names()).toEqual(["1.png"]);
  expect(held.result?.problems[0]?.message).toBe("“\u20682.png\u2069” is too large. Limit: 5 MB.");
});

test("The limit of a size is named with one decimal", async () => {
  show(undefined, { maxBytes: 1_600_000, downscale: false });
  add(wide(1, 1_600_001));
  await waitFor(() => expect(held.result?.problems[0]?.message).toContain("Limit: 1.5 MB."));
});

/** A page with a canvas. `getSize` decides the bytes of an image. Returns the widths of the images that were drawn. */
function installCanvas(
  getSize: (drawn: { readonly quality: number; readonly width: number }) => number = () => 5,
): readonly number[] {
  const drawn: number[] = [];
  const createImageBitmap = async (file: Blob) => {
    const width = new DataView(await file.arrayBuffer()).getUint32(16);
    return { width, height: 1, close() {} };
  };
  class OffscreenCanvas {
    readonly width: number;
    constructor(width: number) {
      this.width = width;
      drawn.push(width);
    }
    getContext = () => ({ fillRect() {}, drawImage() {} });
    convertToBlob = async ({ type, quality }: { type: string; quality: number }) =>
      new Blob([new Uint8Array(getSize({ quality, width: this.width }))], { type });
  }
  vi.stubGlobal("createImageBitmap", createImageBitmap);
  vi.stubGlobal("OffscreenCanvas", OffscreenCanvas);
  return drawn;
}

test("An image of up to 2048 pixels is sent unchanged, and a wider one is downscaled", async () => {
  const drawn = installCanvas();
  show();
  const files = [png(), wide(2048), wide(2049)] as const;
  add(...files);
  await isReady();
  const [one, most, wider] = held.result?.images ?? [];
  expect([one, most]).toEqual([files[0], files[1]]);
  expect([one === files[0], most === files[1], wider === files[2]]).toEqual([true, true, false]);
  expect([wider?.type, drawn]).toEqual(["image/jpeg", [2048]]);
});

test("An image is not downscaled if the option is off", async () => {
  const drawn = installCanvas();
  show(undefined, { downscale: false });
  add(wide(2049));
  await isReady();
  expect([drawn, held.result?.images[0]?.type]).toEqual([[], "image/png"]);
});

test("A damaged image is unreadable where the page can decode images", async () => {
  installCanvas();
  const refused = new DOMException("The source image could not be decoded.", "InvalidStateError");
  vi.stubGlobal("createImageBitmap", () => Promise.reject(refused));
  show();
  add(png());
  await waitFor(() => expect(problems()).toEqual(["reef.png: unreadable"]));
});

test("The quality is lowered first, then the size, and an image that still does not fit is refused", async () => {
  const drawn = installCanvas(({ quality, width }) => (width < 90 && quality < 0.7 ? 5 : 50));
  show(undefined, { maxSide: 100, maxBytes: 10 });
  add(wide(200));
  await isReady();
  expect([held.result?.images[0]?.size, drawn]).toEqual([5, [100, 80]]);
  installCanvas(() => 50);
  add(wide(300));
  await waitFor(() => expect(problems()).toEqual(["300.png: size"]));
});

test("a model without image input keeps the images and names models with image input", async () => {
  const { setModel } = show("delta-5.3");
  expect(held.result).toMatchObject({ supportsImages: false, switchTo: [] });
  add(png());
  await isReady();
  expect(held.result).toMatchObject({ supportsImages: false, switchTo: ["alpha-v4.1-flash"] });
  setModel("alpha-v4.1-flash");
  expect(held.result).toMatchObject({ supportsImages: true, switchTo: [] });
  expect(names()).toEqual(["reef.png"]);
  setModel("zeta-9");
  expect(held.result?.supportsImages).toBe(true);
});

test("a preview is revoked with its attachment", async () => {
  show();
  add(png("one.png"), png("two.png"));
  await isReady();
  expect(open.size).toBe(2);
  fireEvent.click(screen.getByRole("button", { name: "one.png" }));
  expect([open.size, names()]).toEqual([1, ["two.png"]]);
  act(() => held.result?.clear());
  expect([open.size, names()]).toEqual([0, []]);
});

test("a component that is unmounted revokes its previews", async () => {
  const { unmount } = show();
  add(png());
  await isReady();
  vi.useFakeTimers();
  unmount();
  expect(open.size).toBe(1);
  vi.advanceTimersByTime(1000);
  expect(open.size).toBe(0);
});

test("A component that StrictMode mounts twice keeps its previews", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  show();
  add(png());
  vi.advanceTimersByTime(10_000);
  expect(open.size).toBe(1);
  await act(() => settled());
});

test("Signing out removes attachments, and another client has its own", async () => {
  const page = (client: ReturnType<typeof createTestClient>["client"]) => (
    <GatewayProvider client={client}>
      <Composer />
    </GatewayProvider>
  );
  const [one, two] = [
    createTestClient(() => new Response()).client,
    createTestClient(() => new Response()).client,
  ];
  const { rerender } = render(page(one));
  add(png());
  await isReady();
  rerender(page(two));
  expect(names()).toEqual([]);
  rerender(page(one));
  expect(names()).toEqual(["reef.png"]);
  await act(() => signOut(one));
  expect([names(), open.size]).toEqual([[], 0]);
});

test.skipIf(!Activity)("A component that was hidden for a moment keeps the same previews", async () => {
  const page = (mode: "visible" | "hidden") =>
    Activity && (
      <Activity mode={mode}>
        <Composer />
      </Activity>
    );
  const { rerender } = render(page("visible"));
  add(png());
  await isReady();
  const first = held.result?.attachments[0]?.previewUrl ?? "";
  vi.useFakeTimers();
  rerender(page("hidden"));
  vi.advanceTimersByTime(999);
  rerender(page("visible"));
  vi.advanceTimersByTime(10_000);
  expect([held.result?.attachments[0]?.previewUrl, [...open]]).toEqual([first, [first]]);
});

test.skipIf(!Activity)("a component that was hidden for long shows its previews again", async () => {
  const page = (mode: "visible" | "hidden") =>
    Activity && (
      <Activity mode={mode}>
        <Composer />
      </Activity>
    );
  const { rerender } = render(page("visible"));
  add(png());
  await isReady();
  const preview = () => screen.getByRole("img", { hidden: true }).getAttribute("src") ?? "";
  const first = preview();
  vi.useFakeTimers();
  rerender(page("hidden"));
  vi.advanceTimersByTime(1000);
  expect(open.size).toBe(0);
  rerender(page("visible"));
  expect([preview() === first, open.has(preview())]).toEqual([false, true]);
});

test("methods and props keep their identity", async () => {
  const { setModel } = show();
  const { add, inputProps, dropProps, onPaste } = held.result as UseAttachmentsResult;
  setModel("delta-5.3");
  expect(held.result).toMatchObject({ add, inputProps, dropProps, onPaste });
  expect(held.result?.inputProps).toBe(inputProps);
});

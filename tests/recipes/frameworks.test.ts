import { cpSync } from "node:fs";
import { createEmulator, type Emulator } from "@sluice/emulator";
import { within } from "@testing-library/react";
import { createComponent, type Component as SolidComponent } from "solid-js";
import { render as renderSolid } from "solid-js/web";
import { mount, type Component as SvelteComponent, unmount } from "svelte";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createApp, type Component as VueComponent } from "vue";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The components of the page "Other frameworks" (docs/examples), each in its own framework. */

const root = `${import.meta.dirname}/../../`;
const speed = Number.POSITIVE_INFINITY;
let emulator: Emulator;
let page: HTMLElement;
let fault: string;
let end: () => unknown = () => {};

beforeEach(() => {
  emulator = createEmulator({ speed });
  page = document.body.appendChild(document.createElement("main"));
  fault = "";
  // an app has a proxy at /api; here it is the emulator
  vi.stubGlobal("fetch", async (address: string, init: RequestInit) => {
    const body = init.body ? String(init.body).replace("sky blue?", `sky blue? ${fault}`) : null;
    const { pathname } = new URL(address);
    return emulator.fetch(
      new Request(`https://gateway.test${pathname.replace("/api", "")}`, { ...init, body }),
    );
  });
});
afterEach(async () => {
  vi.useRealTimers();
  await end();
  page.remove();
  vi.unstubAllGlobals();
});

/** Copies the components of a framework into a separate folder, and returns the folder. */
function findPage(framework: string): string {
  const folder = createTemporaryFolder(`frameworks-${framework}`);
  cpSync(`${root}docs/examples/${framework}`, folder, { recursive: true });
  return folder;
}

type Show = (name: "chat" | "video" | "image") => Promise<() => unknown>;
const capital = (name: string) => name.replace(/^./, (letter) => letter.toUpperCase());
const frameworks: Record<string, () => Show> = {
  vue: () => {
    const folder = findPage("vue");
    return async (name) => {
      const { default: Root } = (await import(/* @vite-ignore */ `${folder}/${name}.vue`)) as {
        default: VueComponent;
      };
      const app = createApp(Root);
      app.mount(page);
      return () => app.unmount();
    };
  },
  svelte: () => {
    const folder = findPage("svelte");
    return async (name) => {
      const { default: Root } = (await import(/* @vite-ignore */ `${folder}/${capital(name)}.svelte`)) as {
        default: SvelteComponent;
      };
      const component = mount(Root, { target: page });
      return () => unmount(component);
    };
  },
  solid: () => {
    const folder = findPage("solid");
    return async (name) => {
      const module = (await import(/* @vite-ignore */ `${folder}/${name}.tsx`)) as Record<
        string,
        SolidComponent
      >;
      const Root = module[capital(name)] as SolidComponent;
      return renderSolid(() => createComponent(Root, {}), page);
    };
  },
};

describe.each(Object.keys(frameworks))("the components of %s", (framework) => {
  const show = frameworks[framework]?.() as Show;
  const button = (name: string) => within(page).getByRole<HTMLButtonElement>("button", { name });
  const press = async (name: string) => {
    await expect.poll(() => button(name).disabled).toBe(false);
    button(name).click();
  };

  test("shows a response while it grows, stops it, and shows another", async () => {
    fault = "[[stall]]";
    end = await show("chat");
    await press("Ask");
    await expect.poll(() => page.textContent).toMatch(/Why is the sky blue\?.{20}/s);
    fault = "";
    await press("Stop");
    await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
    await press("Ask");
    await expect.poll(() => emulator.requests[1]?.finished).toBe(true);
    const { length } = within(page).getAllByText("assistant");
    expect(length).toBe(2);
    await expect.poll(() => button("Ask").disabled).toBe(false);
  });

  test("shows the words of a failure", async () => {
    fault = "[[truncate]]";
    end = await show("chat");
    await press("Ask");
    const alert = await within(page).findByRole("alert");
    expect(alert.textContent).toBe("The response was cut off");
    within(page).getByText("assistant");
  });

  test("shows a video once it is made", async () => {
    end = await show("video");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    button("Create").click();
    await expect.poll(() => page.querySelector("progress")).not.toBeNull();
    expect(button("Create").disabled).toBe(true);
    const look = async () => {
      await vi.advanceTimersByTimeAsync(15_000);
      return page.querySelector("video")?.src;
    };
    await expect.poll(look).toMatch(/^https.*mp4/);
    expect(page.querySelector("progress")).toBeNull();
  });

  test("shows an image", async () => {
    end = await show("image");
    await press("Draw");
    await expect.poll(() => page.querySelector("img")?.src).toMatch(/^http.*png/);
    expect(button("Draw").disabled).toBe(false);
  });
});

import { createClient } from "@sluice/core";
import {
  createAssetStore,
  createVideoTaskStore,
  GatewayProvider,
  type UseAssetResult,
  type UseChatStreamResult,
  type UseImagesResult,
  type UseVideoTaskResult,
  type UseVideoTasksResult,
  useAsset,
  useChatStream,
  useImages,
  useVideoTask,
  useVideoTasks,
} from "@sluice/react";
import { Activity, type ReactNode, StrictMode, useLayoutEffect } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { chats } from "../../packages/react/src/chats.js";
import { images } from "../../packages/react/src/images.js";
import type { AppOptions } from "./tab.js";

/* The app of a tab as a React tree: a separate bundle that each tab loads again, as a page does. */

/** Components of the app; `title` shows the same chat as `chat`. */
export const parts = ["chat", "title", "list", "video", "asset", "images"] as const;
export type Part = (typeof parts)[number];
/** Components that share their store by an id. */
export type SharedPart = "chat" | "title" | "images";

/** How a component is in the tree. */
export interface Mount {
  readonly isMounted: boolean;
  /** True inside a hidden `<Activity>`. */
  readonly isHidden: boolean;
  /** Number of mounts. */
  readonly mount: number;
  /** Id of the chat, the images, the task or the asset. */
  readonly id: string | undefined;
}

/** The last results that the components have committed. */
export interface Shown {
  chat: { readonly id: string; readonly result: UseChatStreamResult };
  title: { readonly id: string; readonly result: UseChatStreamResult };
  list: { readonly result: UseVideoTasksResult };
  video: { readonly result: UseVideoTaskResult };
  asset: { readonly result: UseAssetResult };
  images: { readonly id: string | undefined; readonly result: UseImagesResult<"gamma-image-5-0-260128"> };
}

/** Parts of the tab that the tree needs. */
export interface TreeParts extends AppOptions {
  /** Element of a separate document. */
  readonly container: Element;
  /** True for React's StrictMode, which mounts everything twice. */
  readonly isStrict: boolean;
  /** Receives the errors that come out of a component. */
  readonly onError: (error: unknown) => void;
}

/** Renders the app. */
export function renderTree(tab: TreeParts) {
  const { container, isStrict, storage, onError } = tab;
  const client = createClient(tab.client);
  const mounts = Object.fromEntries(
    parts.map((part): [Part, Mount] => [part, { isMounted: true, isHidden: false, mount: 1, id: undefined }]),
  ) as Record<Part, Mount>;
  mounts.chat = mounts.title = { ...mounts.chat, id: "a" };
  const shown: Partial<Shown> = {};
  const root = createRoot(container, { onUncaughtError: onError, onRecoverableError: onError });
  const listOptions = { storage };
  const stops: (() => void)[] = [];
  flushSync(render);
  return { mounts, shown, changeMount, chatStore, findStore, probe, unmount };

  function unmount(): void {
    root.unmount();
    for (const stop of stops) stop();
  }

  /** Changes how a component is in the tree. */
  function changeMount(part: Part, change: Partial<Mount>): void {
    mounts[part] = { ...mounts[part], ...change };
    render();
  }

  function render(): void {
    const tree = (
      <GatewayProvider client={client}>
        {parts.map((part) => (
          <Slot key={part} mount={mounts[part]}>
            {createElementFor(part, mounts[part])}
          </Slot>
        ))}
      </GatewayProvider>
    );
    root.render(isStrict ? <StrictMode>{tree}</StrictMode> : tree);
  }

  function createElementFor(part: Part, { mount, id }: Mount): ReactNode {
    switch (part) {
      case "chat":
      case "title":
        return <Chat key={mount} part={part} id={id ?? "a"} />;
      case "list":
        return <List key={mount} />;
      case "video":
        return <Video key={mount} taskId={id} />;
      case "asset":
        return <Asset key={mount} assetId={id} />;
      case "images":
        return <Images key={mount} id={id} />;
    }
  }

  function Chat({ part, id }: { part: "chat" | "title"; id: string }) {
    const result = useChatStream(tab.chat(id));
    return useShown(part, { id, result });
  }

  function List() {
    return useShown("list", { result: useVideoTasks(listOptions) });
  }

  function Video({ taskId }: { taskId: string | undefined }) {
    return useShown("video", { result: useVideoTask({ taskId, storage }) });
  }

  function Asset({ assetId }: { assetId: string | undefined }) {
    return useShown("asset", { result: useAsset({ ...tab.asset, assetId }) });
  }

  function Images({ id }: { id: string | undefined }) {
    return useShown("images", { id, result: useImages({ ...tab.images, id }) });
  }

  function useShown<Name extends Part>(part: Name, state: Shown[Name]): null {
    useLayoutEffect(() => {
      shown[part] = state;
    });
    return null;
  }

  /** Returns the store that a component shares by its id. Undefined for a private store, or without a store. */
  function findStore(part: SharedPart) {
    const { id } = shown[part] ?? {};
    if (id === undefined) return undefined;
    return part === "images" ? images.get(client).peek(id) : chats.get(client).peek(id);
  }

  function chatStore() {
    return chats.get(client).peek(shown.chat?.id);
  }

  /** Opens a new store with the task, or with the asset, that a component shows. Returns a reader of its state. */
  function probe(part: "video" | "asset"): (() => { status: string }) | undefined {
    const id = shown[part]?.result.handle?.id;
    if (id === undefined) return undefined;
    const store =
      part === "video" ? createVideoTaskStore(client, { storage }) : createAssetStore(client, tab.asset);
    stops.push(store.subscribe(() => {}));
    store.attach(id);
    return store.getSnapshot;
  }
}

function Slot({ mount: { isMounted, isHidden }, children }: { mount: Mount; children: ReactNode }) {
  return <Activity mode={isHidden ? "hidden" : "visible"}>{isMounted && children}</Activity>;
}

import type { Page } from "./page.js";
import type { AppOptions, Stores, View } from "./tab.js";
import type { Part, Place, SharedPart, Shown } from "./tree.js";
import { runTreeCode } from "./tree-code.js";

/** The React tree of a tab. */
export interface Tree {
  readonly places: Readonly<Record<Part, Place>>;
  /** State of each component at its last commit. */
  readonly shown: Partial<Shown>;
  /** Complaints of React, and errors that came out of a component. */
  readonly complaints: readonly string[];
  /** Changes how a component is in the tree. */
  place(part: Part, change: Partial<Place>): void;
  /** Mounts and shows all, with the chat that all tabs have. */
  showAll(): void;
  /** Times at which a component was mounted and unmounted, in order. A shown component is active. */
  readonly turns: readonly { readonly part: Part; readonly at: number; readonly isActive: boolean }[];
  /** Returns the store that a component shares by its id. Undefined for a private store, or without a store. */
  storeOf(part: SharedPart): { getSnapshot(): object } | undefined;
  /** Id of the task that the component of the video has created since it was mounted, or got its id. */
  readonly createdId: string | undefined;
  /** Opens other stores with the task and the asset that are shown, for `probed`. */
  probe(): void;
  /** States of the stores that `probe` opened. */
  readonly probed: ReadonlyMap<"video" | "asset", () => { readonly status: string }>;
}

/** Opens an app that uses the hooks. */
export function openTree(options: AppOptions, page: Page, view: View) {
  const complaints: string[] = [];
  const reportProblem = (...line: readonly unknown[]) => void complaints.push(line.map(String).join(" "));
  const { renderTree, parts, container } = runTreeCode({ logError: reportProblem, now: page.clock.now });
  const { places, shown, place, chatStore, storeOf, probe, unmount } = renderTree({
    ...options,
    container,
    isStrict: view === "strict hooks",
    onError: reportProblem,
  });
  const probed = new Map<"video" | "asset", () => { readonly status: string }>();
  const turns = parts.map((part) => ({ part, at: page.clock.now(), isActive: true }));
  let lastChat = chatStore();
  let createdId: string | undefined;
  /** Number of tasks that the video component has received or forgotten. */
  let generation = 0;
  const tree: Tree = {
    places,
    shown,
    complaints,
    turns,
    place: changePlace,
    showAll() {
      for (const part of parts) changePlace(part, { isMounted: true, isHidden: false });
      for (const part of ["chat", "title"] as const) changePlace(part, { id: "a" });
    },
    storeOf,
    get createdId() {
      return createdId;
    },
    probed,
    probe() {
      for (const part of ["video", "asset"] as const) {
        const read = page.run(() => probe(part));
        if (read) probed.set(part, read);
      }
    },
  };
  // the verbs of the last commit, as an event handler has them
  const resultOf = <Name extends Part>(part: Name): Shown[Name]["result"] => {
    const { result } = shown[part] ?? {};
    if (!result) throw new Error(`${part} was never shown`);
    return result;
  };
  const stores: Stores = {
    chat: {
      getSnapshot() {
        lastChat = chatStore() ?? lastChat;
        return (lastChat ?? { getSnapshot: () => resultOf("chat") }).getSnapshot();
      },
      send: (content) => resultOf("chat").send(content),
      stop: () => resultOf("chat").stop(),
      reset: () => resultOf("chat").reset(),
      retry: () => resultOf("chat").retry(),
      cancelQueued: (id) => resultOf("chat").cancelQueued(id),
      regenerate: () => resultOf("chat").regenerate(),
      edit: (id, content) => resultOf("chat").edit(id, content),
      switchBranch: (id) => resultOf("chat").switchBranch(id),
      approve: (id) => resultOf("chat").approve(id),
      deny: (id) => resultOf("chat").deny(id),
      addToolOutput: (id, output) => resultOf("chat").addToolOutput(id, output),
    },
    list: { getSnapshot: () => resultOf("list").tasks, remove: (key) => resultOf("list").remove(key) },
    video: {
      async create(request, label) {
        const before = generation;
        const state = await resultOf("video").create(request, label);
        if (before === generation) createdId = state.handle?.id;
        return state;
      },
      refetch: () => resultOf("video").refetch(),
      reset() {
        forget();
        resultOf("video").reset();
      },
    },
    images: {
      getSnapshot: () => resultOf("images"),
      generate: (request) => resultOf("images").generate(request),
      stop: () => resultOf("images").stop(),
      reset: () => resultOf("images").reset(),
    },
    asset: {
      create: (image, details) => resultOf("asset").create(image, details),
      refetch: () => resultOf("asset").refetch(),
      reset: () => resultOf("asset").reset(),
    },
  };
  return { ...stores, tree, close: () => page.run(unmount) };

  function forget(): void {
    generation += 1;
    createdId = undefined;
  }

  function changePlace(part: Part, change: Partial<Place>): void {
    const before = places[part];
    page.run(() => place(part, change));
    const { isMounted, isHidden, mount, id } = places[part];
    const isSame = isMounted === before.isMounted && mount === before.mount && id === before.id;
    if (part === "video" && !isSame) forget();
    turns.push({ part, at: page.clock.now(), isActive: isMounted && !isHidden });
  }
}

import type { Page } from "./page.js";
import type { AppOptions, Stores, View } from "./tab.js";
import type { Mount, Part, SharedPart, Shown } from "./tree.js";
import { runTreeCode } from "./tree-code.js";

/** The React tree of a tab. */
export interface Tree {
  readonly mounts: Readonly<Record<Part, Mount>>;
  /** State of each component at its last commit. */
  readonly shown: Partial<Shown>;
  /** Errors of React and of components. */
  readonly complaints: readonly string[];
  /** Changes how a component is in the tree. */
  changeMount(part: Part, change: Partial<Mount>): void;
  /** Mounts and shows all, with the chat that all tabs have. */
  showAll(): void;
  /** Times at which a component was mounted and unmounted, in order. A shown component is active. */
  readonly turns: readonly { readonly part: Part; readonly at: number; readonly isActive: boolean }[];
  /** Returns the store that a component shares by its id. Undefined for a private store, or without a store. */
  findStore(part: SharedPart): { getSnapshot(): object } | undefined;
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
  const { mounts, shown, changeMount, chatStore, findStore, probe, unmount } = renderTree({
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
    mounts,
    shown,
    complaints,
    turns,
    changeMount: changePart,
    showAll() {
      for (const part of parts) changePart(part, { isMounted: true, isHidden: false });
      for (const part of ["chat", "title"] as const) changePart(part, { id: "a" });
    },
    findStore,
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
  // an event handler has the methods of the last commit
  const readResult = <Name extends Part>(part: Name): Shown[Name]["result"] => {
    const { result } = shown[part] ?? {};
    if (!result) throw new Error(`${part} was never shown`);
    return result;
  };
  const stores: Stores = {
    chat: {
      getSnapshot() {
        lastChat = chatStore() ?? lastChat;
        return (lastChat ?? { getSnapshot: () => readResult("chat") }).getSnapshot();
      },
      send: (content) => readResult("chat").send(content),
      stop: () => readResult("chat").stop(),
      reset: () => readResult("chat").reset(),
      retry: () => readResult("chat").retry(),
      cancelQueued: (id) => readResult("chat").cancelQueued(id),
      regenerate: () => readResult("chat").regenerate(),
      edit: (id, content) => readResult("chat").edit(id, content),
      switchBranch: (id) => readResult("chat").switchBranch(id),
      approve: (id) => readResult("chat").approve(id),
      deny: (id) => readResult("chat").deny(id),
      addToolOutput: (id, output) => readResult("chat").addToolOutput(id, output),
    },
    list: { getSnapshot: () => readResult("list").tasks, remove: (key) => readResult("list").remove(key) },
    video: {
      async create(request, label) {
        const before = generation;
        const state = await readResult("video").create(request, label);
        if (before === generation) createdId = state.handle?.id;
        return state;
      },
      refetch: () => readResult("video").refetch(),
      reset() {
        forget();
        readResult("video").reset();
      },
    },
    images: {
      getSnapshot: () => readResult("images"),
      generate: (request) => readResult("images").generate(request),
      stop: () => readResult("images").stop(),
      reset: () => readResult("images").reset(),
    },
    asset: {
      create: (image, details) => readResult("asset").create(image, details),
      refetch: () => readResult("asset").refetch(),
      reset: () => readResult("asset").reset(),
    },
  };
  return { ...stores, tree, close: () => page.run(unmount) };

  function forget(): void {
    generation += 1;
    createdId = undefined;
  }

  function changePart(part: Part, change: Partial<Mount>): void {
    const before = mounts[part];
    page.run(() => changeMount(part, change));
    const { isMounted, isHidden, mount, id } = mounts[part];
    const isSame = isMounted === before.isMounted && mount === before.mount && id === before.id;
    if (part === "video" && !isSame) forget();
    turns.push({ part, at: page.clock.now(), isActive: isMounted && !isHidden });
  }
}

import { createImageStore, type ImageState, type ImageStore, type ImageStoreOptions } from "@sluice/stores";
import { type PassView, passViewOf } from "./pass-view.js";
import { sharedStores } from "./shared-stores.js";

/** The image stores of each client. Images cost money, so a store with an id is kept longer than a request may take. */
export const images = sharedStores<ImageStoreOptions<string>, ImageStore<string>>({
  create(client, read) {
    const store = createImageStore<string>(
      client,
      read as () => ImageStoreOptions<string> & { checks: false },
    );
    viewOfImages(store);
    return store;
  },
  dispose: (store) => store.stop(),
  isBusy: (store) => store.getSnapshot().status === "pending",
  lingerMs: 15 * 60_000,
});

/** Returns the versions of an image store. */
export function viewOfImages<State extends ImageState<string>>(store: {
  readonly getSnapshot: () => State;
}): PassView<State> {
  return passViewOf(store, ({ status }) => status);
}

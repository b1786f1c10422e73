import { createImageStore, type ImageState, type ImageStore, type ImageStoreOptions } from "@sluice/stores";
import { getPassView, type PassView } from "./render-pass.js";
import { createSharedStores } from "./shared-stores.js";

/** The image stores of each client. Images cost money, so a store with an id outlives the longest request. */
export const images = createSharedStores<ImageStoreOptions<string>, ImageStore<string>>({
  create(client, read) {
    const store = createImageStore<string>(
      client,
      read as () => ImageStoreOptions<string> & { checks: false },
    );
    // the first call records the snapshot that a server has rendered
    getImageView(store);
    return store;
  },
  dispose: (store) => store.stop(),
  isBusy: (store) => store.getSnapshot().status === "pending",
  lingerMs: 15 * 60_000,
});

/** Returns the view of an image store. */
export function getImageView<State extends ImageState<string>>(store: {
  readonly getSnapshot: () => State;
}): PassView<State> {
  return getPassView(store, ({ status }) => status);
}

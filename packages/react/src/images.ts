import { createImageStore, type ImageState, type ImageStore, type ImageStoreOptions } from "@sluice/stores";
import { getPassView, type PassView } from "./render-pass.js";
import { createSharedStores } from "./shared-stores.js";

/** The image stores of each client. Images cost money, so a store with an id lingers longer than any request runs. */
export const images = createSharedStores<ImageStoreOptions<string>, ImageStore<string>>({
  create(client, readOptions) {
    // the type of `useImages` has checked the model already; here it may be any text
    type AnyModelOptions = ImageStoreOptions<string> & { checks: false };
    const store = createImageStore<string>(client, readOptions as () => AnyModelOptions);
    // records the initial state, which hydration needs, before a request can change it
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

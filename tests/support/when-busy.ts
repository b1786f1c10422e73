import type { ChatStoreOptions } from "@sluice/stores";

/** What happens to a message during a turn. */
export type WhenBusy = NonNullable<ChatStoreOptions["whenBusy"]>;

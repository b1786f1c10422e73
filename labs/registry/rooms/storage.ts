import { indexedDBStorage } from "@sluice/react";

/** Storage of chats and videos between visits: one for the whole page. */
export const storage = indexedDBStorage();

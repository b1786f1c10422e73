import type { Subject } from "../pages/list.tsx";

export const peers: Record<string, Subject>;

import type { Subject } from "../subjects.ts";

export const peers: Record<string, Subject>;

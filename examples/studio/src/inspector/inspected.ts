import type { AssetRequest, ChatTarget, ImageRequest, VideoRequest } from "@sluice/core";
import { useEffect } from "react";
import { createValue } from "../value.js";

/** The work that a room would send now. The Code tab writes it as code. */
export type Work =
  | {
      readonly room: "chat";
      /** Model and parameters, as `useChatStream` takes them. */
      readonly target: ChatTarget;
      /** Text of the draft or of the last question; a default stands in for an empty one. */
      readonly question?: string | undefined;
      readonly instructions?: string | undefined;
      /** Names of the tools that are offered. */
      readonly tools?: readonly string[] | undefined;
    }
  | { readonly room: "images"; readonly request: ImageRequest }
  | { readonly room: "videos"; readonly request: VideoRequest }
  | { readonly room: "assets"; readonly request: AssetRequest };

/** The running room, as the inspector shows it. */
export interface Inspected {
  readonly work: Work;
  /** Snapshot of the room's store. */
  readonly state: unknown;
}

/** The room on screen; undefined until it says so. */
export const inspected = createValue<Inspected | undefined>(undefined);

/** Shows the inspector the work and the state of the room that calls this. */
export function useInspected(work: Work, state: unknown): void {
  // without dependencies: objects are new in each render, and setting a value without subscribers costs nothing
  useEffect(() => inspected.set({ work, state }));
}

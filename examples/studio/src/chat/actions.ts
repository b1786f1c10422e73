import type { SendOptions, ThreadTurn } from "@sluice/core";
import { createContext, useContext } from "react";

/** What can be done with what was said. None of it ever changes, so that no row renders for it. */
export interface ConversationActions {
  readonly retry: () => void;
  readonly regenerate: (messageId: string) => void;
  readonly edit: (messageId: string, text: string, options?: SendOptions) => Promise<ThreadTurn>;
  readonly switchBranch: (messageId: string) => void;
  readonly approve: (toolCallId: string) => void;
  readonly deny: (toolCallId: string) => void;
  readonly answerCall: (toolCallId: string, output: unknown) => void;
}

export const ActionsContext = createContext<ConversationActions | undefined>(undefined);
/** Whether an answer is under way. Apart from the rows, so that only the buttons that ask render when it changes. */
export const BusyContext = createContext(false);

export function useConversationActions(): ConversationActions {
  const actions = useContext(ActionsContext);
  if (!actions) throw new Error("no conversation around this");
  return actions;
}

export function useIsBusy(): boolean {
  return useContext(BusyContext);
}

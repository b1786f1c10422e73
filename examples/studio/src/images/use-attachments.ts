import type { ChatModel } from "@sluice/core/schemas";
import { useCallback, useState } from "react";
import { blindnessOf, objectionTo } from "./accepted.js";

/** The images that go with the next message. */
export interface Attachments {
  readonly files: readonly File[];
  /** Why something was not taken. */
  readonly objection: string | undefined;
  readonly add: (files: Iterable<File>) => void;
  /** Takes back what was on its way, whatever the model is by now. */
  readonly putBack: (files: readonly File[]) => void;
  readonly remove: (file: File) => void;
  readonly clear: () => void;
}

/** Takes the images that `model` can see, and says why it takes no other. */
export function useAttachments(model: ChatModel): Attachments {
  const [files, setFiles] = useState<readonly File[]>([]);
  const [refused, setRefused] = useState<string>();
  const blindness = blindnessOf(model);

  const add = useCallback(
    (given: Iterable<File>) => {
      const offered = [...given];
      const objections = blindness ? [blindness] : offered.flatMap((file) => objectionTo(file) ?? []);
      setRefused(objections.length > 0 ? objections.join(" ") : undefined);
      if (!blindness) setFiles((known) => [...known, ...offered.filter((file) => !objectionTo(file))]);
    },
    [blindness],
  );
  const putBack = useCallback((taken: readonly File[]) => setFiles((known) => [...taken, ...known]), []);
  const remove = useCallback((file: File) => {
    setRefused(undefined);
    setFiles((known) => known.filter((other) => other !== file));
  }, []);
  const clear = useCallback(() => {
    setRefused(undefined);
    setFiles([]);
  }, []);

  const unseen = files.length > 0 ? blindness : undefined;
  return { files, objection: unseen ?? refused, add, putBack, remove, clear };
}

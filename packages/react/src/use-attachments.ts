import type { ChatModel } from "@sluice/core";
import { chatModels } from "@sluice/core/extend";
import { registerForget } from "@sluice/stores/extend";
import {
  type ChangeEvent,
  type ClipboardEvent,
  type DragEvent,
  useEffect,
  useMemo,
  useReducer,
  useState,
  useSyncExternalStore,
} from "react";
import {
  type AttachmentState,
  type AttachmentStore,
  acceptedTypes,
  createAttachmentStore,
  type UseAttachmentsOptions,
} from "./attachments.js";
import { useClientIfAny } from "./provider.js";
import { useLatest } from "./use-latest.js";
import { useNotedOptions } from "./use-noted-options.js";

/** Props of an `<input>` that adds files. */
export interface AttachmentInputProps {
  /** Type of the input. */
  readonly type: "file";
  /** Image types that models accept. */
  readonly accept: string;
  /** Lets the user choose several files. */
  readonly multiple: true;
  /** Adds the chosen files and empties the input, so that the user can choose the same file again. */
  readonly onChange: (event: ChangeEvent<HTMLInputElement>) => void;
}

/** Props of a drop target for files. */
export interface AttachmentDropProps {
  /** Allows the drop of files. */
  readonly onDragOver: (event: DragEvent) => void;
  /** Ends `isDragging` when the files leave the element. */
  readonly onDragLeave: (event: DragEvent) => void;
  /** Adds the dropped files. */
  readonly onDrop: (event: DragEvent) => void;
}

type AttachmentMethods = Pick<AttachmentStore, "add" | "remove" | "clear" | "dismiss">;

/** Result of `useAttachments`: the attachments, and methods and props that keep their identity. */
export interface UseAttachmentsResult extends AttachmentState, AttachmentMethods {
  /** The prepared images, for `images` of `send`. */
  readonly images: readonly Blob[];
  /** True while a file is checked or downscaled. Do not `send` yet. */
  readonly isPreparing: boolean;
  /** True if the model has image input. Without it, `send` rejects attachments. */
  readonly supportsImages: boolean;
  /** Models with image input while there are attachments that the model does not support, otherwise empty. */
  readonly switchTo: readonly ChatModel[];
  /** True while files are dragged over the element with `dropProps`. */
  readonly isDragging: boolean;
  /** Props of the `<input>` that adds files. */
  readonly inputProps: AttachmentInputProps;
  /** Props of the drop target. */
  readonly dropProps: AttachmentDropProps;
  /** Handler for `onPaste` of the text field. Adds pasted images and ignores pasted text. */
  readonly onPaste: (event: ClipboardEvent) => void;
}

/**
 * Collects the images of the next chat message from a picker, the clipboard or a drop. Checks their type, size and
 * number, and the model's image input. Nothing is uploaded before `send`.
 *
 * @param model the model of the message. An unknown model counts as one with image input.
 * @example
 * ```tsx
 * function Composer({ send }: { send: UseChatStreamResult["send"] }) {
 *   const [model, setModel] = useState<ChatModel>("alpha-v4.1-flash");
 *   const { attachments, images, isPreparing, switchTo, remove, clear, inputProps, dropProps, onPaste } =
 *     useAttachments(model);
 *   const submit = (form: FormData) => {
 *     send(String(form.get("text")), { images });
 *     clear();
 *   };
 *   return (
 *     <form action={submit} {...dropProps}>
 *       {attachments.map(({ id, file, previewUrl }) => (
 *         <button key={id} type="button" onClick={() => remove(id)}>
 *           <img src={previewUrl} alt={`Remove ${file.name}`} />
 *         </button>
 *       ))}
 *       <input name="text" aria-label="Message" onPaste={onPaste} />
 *       <input {...inputProps} aria-label="Add images" />
 *       {switchTo.map((other) => (
 *         <button key={other} type="button" onClick={() => setModel(other)}>Switch to {other}</button>
 *       ))}
 *       <button disabled={isPreparing || switchTo.length > 0}>Send</button>
 *     </form>
 *   );
 * }
 * ```
 */
export function useAttachments(
  model: ChatModel | (string & {}),
  options: UseAttachmentsOptions = {},
): UseAttachmentsResult {
  useNotedOptions("useAttachments", options);
  // a different client means a different user
  const client = useClientIfAny();
  const store = useLatest(options, createStore).getStore(client ?? noClient);
  useEffect(() => client && registerForget(client, store.clear), [client, store]);
  const { attachments, problems } = useSyncExternalStore(
    store.subscribe,
    store.getSnapshot,
    store.getSnapshot,
  );
  // React reads a store only after it has painted, but the handler of the next event needs the added files
  const [, rerender] = useReducer((count: number) => count + 1, 0);
  useEffect(() => store.hold(), [store]);
  const [isDragging, setDragging] = useState(false);
  const methods = useMemo(() => createMethods(store, rerender), [store]);
  const handlers = useMemo(() => createHandlers(methods.add, setDragging), [methods]);
  const supportsImages = hasImageInput(model);
  return {
    attachments,
    problems,
    images: useMemo(
      () => attachments.flatMap((attachment) => (attachment.isPreparing ? [] : attachment.image)),
      [attachments],
    ),
    isPreparing: attachments.some((attachment) => attachment.isPreparing),
    supportsImages,
    switchTo: attachments.length > 0 && !supportsImages ? seeingModels : noModels,
    isDragging,
    ...handlers,
    ...methods,
  };
}

/** Key for components without a client, outside of a `GatewayProvider`. */
const noClient = {};
const noModels: readonly ChatModel[] = [];
const seeingModels = (Object.keys(chatModels) as ChatModel[]).filter((model) => chatModels[model].seesImages);

function createStore(_: object, readOptions: () => UseAttachmentsOptions): AttachmentStore {
  return createAttachmentStore(readOptions);
}

function hasImageInput(model: string): boolean {
  return chatModels[model as ChatModel]?.seesImages ?? true;
}

function createMethods(
  { add, remove, clear, dismiss }: AttachmentStore,
  rerender: () => void,
): AttachmentMethods {
  return {
    add(files) {
      add(files);
      rerender();
    },
    remove(id) {
      remove(id);
      rerender();
    },
    clear() {
      clear();
      rerender();
    },
    dismiss() {
      dismiss();
      rerender();
    },
  };
}

function createHandlers(add: AttachmentMethods["add"], setDragging: (isDragging: boolean) => void) {
  const inputProps: AttachmentInputProps = {
    type: "file",
    accept: acceptedTypes.join(","),
    multiple: true,
    onChange({ currentTarget }) {
      add([...(currentTarget.files ?? [])]);
      currentTarget.value = "";
    },
  };
  const dropProps: AttachmentDropProps = {
    onDragOver(event) {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      setDragging(true);
    },
    onDragLeave({ currentTarget, relatedTarget }) {
      // the event also fires when the pointer moves to a child
      if (!currentTarget.contains(relatedTarget as Node | null)) setDragging(false);
    },
    onDrop(event) {
      setDragging(false);
      const { files } = event.dataTransfer;
      if (files.length === 0) return;
      event.preventDefault();
      add([...files]);
    },
  };
  const onPaste = (event: ClipboardEvent) => {
    const { files, types } = event.clipboardData;
    // text editors add an image of the copied text
    if (files.length === 0 || types.includes("text/plain")) return;
    event.preventDefault();
    add([...files]);
  };
  return { inputProps, dropProps, onPaste };
}

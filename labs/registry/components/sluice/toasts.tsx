"use client";

import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { useEffect } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { toastWords } from "@/components/sluice/words";

const manager = Toast.createToastManager();

/** Messages that wait until `Toasts` is mounted. */
const waiting: (() => void)[] = [];
let isMounted = false;

interface ToastOptions {
  /** Called by a press on "Undo". @default no button */
  readonly onUndo?: () => void;
}

/** Time to undo, in milliseconds. */
export const UNDO_MS = 10_000;

/** Shows a short message in `Toasts`, with "Undo" if the action can be undone. */
export function toast(title: string, options: ToastOptions = {}): void {
  if (isMounted) add(title, options);
  else waiting.push(() => add(title, options));
}

function add(title: string, { onUndo }: ToastOptions): void {
  const id = manager.add({
    title,
    timeout: onUndo ? UNDO_MS : 6000,
    ...(onUndo && {
      actionProps: {
        children: toastWords.undo,
        onClick() {
          onUndo();
          manager.close(id);
        },
      },
    }),
  });
}

/** The messages of `toast`. Mount it once in the page. */
export function Toasts() {
  useEffect(() => {
    isMounted = true;
    for (const show of waiting.splice(0)) show();
    return () => {
      isMounted = false;
    };
  }, []);
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className="fixed inset-x-4 bottom-4 z-50 mx-auto flex max-w-sm flex-col gap-2">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((shown) => (
    <Toast.Root
      key={shown.id}
      toast={shown}
      className="flex items-center gap-2 rounded-xl border bg-popover py-1 pe-1 ps-4 text-sm text-popover-foreground shadow-lg transition-[opacity,scale] data-ending-style:scale-97 data-ending-style:opacity-0 data-starting-style:scale-97 data-starting-style:opacity-0"
    >
      <Toast.Title className="grow" />
      {shown.actionProps && <Toast.Action render={<Button variant="quiet" className="text-primary" />} />}
      <Toast.Close
        render={
          <IconButton label={toastWords.dismiss}>
            <X aria-hidden />
          </IconButton>
        }
      />
    </Toast.Root>
  ));
}

"use client";

import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { useEffect } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { toastWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

const manager = Toast.createToastManager();

/** Messages that came before there was a place for them. */
const waiting: (() => void)[] = [];
let isShown = false;

export interface ToastOptions {
  /** Called by a press on "Undo". @default there is no such button */
  readonly onUndo?: () => void;
  /** Milliseconds until it goes. @default 6000, and 10000 with "Undo" */
  readonly timeout?: number;
}

/** Shows a short message in the place of `Toasts`, with "Undo" where there is a way back. */
export function toast(title: string, options: ToastOptions = {}): void {
  if (isShown) add(title, options);
  else waiting.push(() => add(title, options));
}

function add(title: string, options: ToastOptions): void {
  const { onUndo, timeout = onUndo ? 10_000 : 6000 } = options;
  const id = manager.add({
    title,
    timeout,
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

interface ToastsProps {
  /** Place in the window: `bottom-28`, above what must stay within reach. @default "bottom-4" */
  readonly className?: string;
}

/** The messages of `toast`; stands once in the page. */
export function Toasts({ className = "bottom-4" }: ToastsProps) {
  useEffect(() => {
    isShown = true;
    for (const show of waiting.splice(0)) show();
    return () => {
      isShown = false;
    };
  }, []);
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport
          className={cn("fixed inset-x-4 z-50 mx-auto flex max-w-sm flex-col gap-2", className)}
        >
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
      className="flex items-center gap-2 rounded-xl border bg-popover py-1 pr-1 pl-4 text-sm text-popover-foreground shadow-lg transition-[opacity,scale] data-ending-style:scale-97 data-ending-style:opacity-0 data-starting-style:scale-97 data-starting-style:opacity-0"
    >
      <Toast.Title className="grow" />
      {shown.actionProps && <Toast.Action render={<Button look="quiet" className="text-primary" />} />}
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

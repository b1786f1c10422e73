import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { useEffect } from "react";
import { Button, IconButton } from "./button.js";
import type { ToastOptions } from "./popups.js";

const manager = Toast.createToastManager();

/** Messages that came before there was a place for them. */
const waiting: (() => void)[] = [];
let isShown = false;

/** Adds a message to the list; `toast` calls it. */
export function showToast(title: string, options: ToastOptions): void {
  if (isShown) add(title, options);
  else waiting.push(() => add(title, options));
}

function add(title: string, { onUndo, timeout = onUndo ? 10_000 : 6000 }: ToastOptions): void {
  const id = manager.add({
    title,
    timeout,
    ...(onUndo && {
      actionProps: {
        children: "Undo",
        onClick() {
          onUndo();
          manager.close(id);
        },
      },
    }),
  });
}

/** The messages that are shown; stands once in the page. */
export function Toasts() {
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
        {/* above the place to write: its buttons stay within reach */}
        <Toast.Viewport className="fixed inset-x-4 bottom-28 z-50 short:bottom-4 mx-auto flex max-w-sm flex-col gap-2">
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
      className="popup flex items-center gap-2 py-1 pr-1 pl-4 text-sm data-ending-style:opacity-0"
    >
      <Toast.Title className="grow" />
      {shown.actionProps && <Toast.Action render={<Button look="quiet" className="text-accent" />} />}
      <Toast.Close
        render={
          <IconButton label="Dismiss">
            <X aria-hidden />
          </IconButton>
        }
      />
    </Toast.Root>
  ));
}

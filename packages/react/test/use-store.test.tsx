import { useStore } from "@sluice/react";
import { act, render, screen } from "@testing-library/react";
import { renderToString } from "react-dom/server";
import { expect, test, vi } from "vitest";

function createCounter() {
  let state = { done: 0, note: "same" };
  const listeners = new Set<() => void>();
  return {
    getSnapshot: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    count() {
      state = { ...state, done: state.done + 1 };
      for (const listener of listeners) listener();
    },
    listeners,
  };
}

type Counter = ReturnType<typeof createCounter>;

function Done({ store }: { readonly store: Counter }) {
  return <output>{useStore(store).done}</output>;
}

const findNote = ({ note }: { readonly note: string }) => note;

function Note({ store, onRender }: { readonly store: Counter; readonly onRender: () => void }) {
  onRender();
  return <output>{useStore(store, findNote)}</output>;
}

test("shows each state of a store, also on a server, and leaves it with the component", () => {
  const store = createCounter();
  expect(renderToString(<Done store={store} />)).toBe("<output>0</output>");
  const { unmount } = render(<Done store={store} />);
  act(() => store.count());
  expect(screen.getByRole("status").textContent).toBe("1");
  unmount();
  expect(store.listeners.size).toBe(0);
});

test("renders again only when the selected part has changed", () => {
  const store = createCounter();
  const onRender = vi.fn();
  render(<Note store={store} onRender={onRender} />);
  act(() => store.count());
  expect(screen.getByRole("status").textContent).toBe("same");
  expect(onRender).toHaveBeenCalledOnce();
});

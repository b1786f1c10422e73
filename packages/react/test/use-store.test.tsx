import { useStore } from "@sluice/react";
import { act, render, screen } from "@testing-library/react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";

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

const noteOf = ({ note }: { readonly note: string }) => note;

test("shows each state of a store, also on a server, and leaves it with the component", () => {
  const store = createCounter();
  const Done = () => <output>{useStore(store).done}</output>;
  expect(renderToString(<Done />)).toBe("<output>0</output>");
  const { unmount } = render(<Done />);
  act(() => store.count());
  expect(screen.getByRole("status").textContent).toBe("1");
  unmount();
  expect(store.listeners.size).toBe(0);
});

test("renders again only when the selected part has changed", () => {
  const store = createCounter();
  let renders = 0;
  const Note = () => {
    renders += 1;
    return <output>{useStore(store, noteOf)}</output>;
  };
  render(<Note />);
  act(() => store.count());
  expect([screen.getByRole("status").textContent, renders]).toEqual(["same", 1]);
});

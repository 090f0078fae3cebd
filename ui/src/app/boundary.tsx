// SPDX-License-Identifier: Apache-2.0
// app/boundary.tsx - around a part of a page that may fail by itself: the rest of it stays

import { Component, type ComponentChildren } from "preact";
import { Empty } from "./parts.tsx";

/** A fault of ours stays where it is. */
export class Boundary extends Component<{ children: ComponentChildren }, { fault: string }> {
  override state = { fault: "" };
  override componentDidCatch(e: Error): void {
    this.setState({ fault: e.message });
  }
  override render() {
    if (!this.state.fault) return this.props.children;
    return (
      <Empty title="This part of the page has failed">
        <p>{this.state.fault}</p>
        <p><button onClick={() => this.setState({ fault: "" })}>Try again</button></p>
      </Empty>
    );
  }
}

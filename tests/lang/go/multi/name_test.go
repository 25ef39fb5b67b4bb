package main

import "testing"

func TestName(t *testing.T) {
	if name() != "multi" {
		t.Fail()
	}
}

package main

var serveCases []testCase

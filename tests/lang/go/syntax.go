package main

func main( {
}
